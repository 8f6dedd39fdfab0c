/** Prints the error codes of the release on the class path: code and name, a line each. */
public class Errors {
    public static void main(String[] arguments) {
        for (org.apache.kafka.common.protocol.Errors error : org.apache.kafka.common.protocol.Errors.values()) {
            System.out.println(error.code() + " " + error.name());
        }
    }
}
