import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
/** Prints the names of a client's properties, one a line after the client. */
public class ClientPropertyNames {
    public static void main(String[] arguments) {
        for (String name : ConsumerConfig.configNames()) System.out.println("consumer " + name);
        for (String name : ProducerConfig.configNames()) System.out.println("producer " + name);
    }
}
