import java.util.Map;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

/** Prints every setting of Apache Kafka's clients with its default: NAME, a tab, the text of the default. */
public final class ClientSettings {
    public static void main(String[] arguments) {
        for (ConfigDef clients : new ConfigDef[] {
                ProducerConfig.configDef(), ConsumerConfig.configDef(), AdminClientConfig.configDef()}) {
            for (Map.Entry<String, ConfigDef.ConfigKey> entry : clients.configKeys().entrySet()) {
                ConfigDef.ConfigKey key = entry.getValue();
                Object value = key.hasDefault() ? key.defaultValue : null;
                String text = value == null ? "" : ConfigDef.convertToString(value, key.type);
                System.out.println(entry.getKey() + "\t" + text);
            }
        }
    }
}
