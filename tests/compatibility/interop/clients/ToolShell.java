import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Apache Kafka's command line tools one after the other in one JVM. Each line of standard input is a JSON object
 * {class, arguments, input}; each line of standard error answers with {status, output}.
 */
public class ToolShell {
    static class Exited extends Error {}

    public static void main(String[] none) throws Exception {
        var json = new ObjectMapper();
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var answers = System.err;
        for (String line; (line = requests.readLine()) != null;) {
            var request = json.readTree(line);
            var arguments = new ArrayList<String>();
            request.get("arguments").forEach(argument -> arguments.add(argument.asText()));
            var output = new ByteArrayOutputStream();
            var status = new Integer[] {null};
            Exit.Procedure exit = (code, message) -> {
                if (status[0] == null) status[0] = code;
                throw new Exited();
            };
            var atEnd = new ArrayList<Runnable>();
            Exit.setShutdownHookAdder((name, action) -> atEnd.add(action));
            Exit.setExitProcedure(exit);
            Exit.setHaltProcedure(exit);
            System.setIn(new ByteArrayInputStream(request.get("input").asText().getBytes(StandardCharsets.UTF_8)));
            System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
            System.setErr(System.out);
            try {
                var main = Class.forName(request.get("class").asText()).getMethod("main", String[].class);
                main.invoke(null, (Object) arguments.toArray(new String[0]));
            } catch (java.lang.reflect.InvocationTargetException problem) {
                if (!(problem.getCause() instanceof Exited)) {
                    status[0] = 1;
                    problem.getCause().printStackTrace();
                }
            }
            atEnd.forEach(Runnable::run);
            var text = output.toString(StandardCharsets.UTF_8);
            answers.println(json.writeValueAsString(Map.of("status", status[0] == null ? 0 : status[0], "output", text)));
        }
    }
}
