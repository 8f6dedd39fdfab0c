import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads lines "CLASS READ_VERSION WRITE_VERSION .HEX" and answers each with "OUTCOME TAB JSON": the message read from
 * the bytes in one version and written in the other ("." and hex), or "unsupported" or "null" if Kafka refuses to
 * write it; "left N" if bytes remained. The JSON, of the version read, is Kafka's own, with records as their size.
 */
public class MessageOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(line.split(" ")));
        }
        answers.flush();
    }

    private static String answer(String[] question) throws Exception {
        Class<?> type = Class.forName(question[0]);
        short readVersion = Short.parseShort(question[1]);
        short writeVersion = Short.parseShort(question[2]);
        ByteBuffer input = ByteBuffer.wrap(HexFormat.of().parseHex(question[3].substring(1)));
        Message message = (Message) type.getDeclaredConstructor().newInstance();
        message.read(new ByteBufferAccessor(input), readVersion);
        if (input.hasRemaining()) {
            return "left " + input.remaining() + "\t{}";
        }
        return write(message, writeVersion) + "\t" + json(type, message, readVersion);
    }

    private static String write(Message message, short version) {
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(output), cache, version);
            if (output.hasRemaining()) {
                throw new IllegalStateException("size and bytes written differ");
            }
            return "." + HexFormat.of().formatHex(output.array());
        } catch (UnsupportedVersionException refused) {
            return "unsupported";
        } catch (NullPointerException refused) {
            return "null";
        }
    }

    private static String json(Class<?> type, Message message, short version) throws Exception {
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        try {
            return converter.getMethod("write", type, short.class, boolean.class)
                .invoke(null, message, version, false).toString();
        } catch (InvocationTargetException failure) {
            throw new IllegalStateException(type + " version " + version, failure.getCause());
        }
    }
}
