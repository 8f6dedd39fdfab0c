import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints what the release on the class path defines, a tab between the words: kind, name and value. */
public class Release {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            print("error", error.name(), error.code());
        }
        print("metadata", "metadata.version", MetadataVersion.latestProduction().featureLevel());
        settings("broker", AbstractKafkaConfig.CONFIG_DEF, false);
        settings("broker", QuotaConfig.brokerQuotaConfigs(), true);
        settings("topic", LogConfig.configDefCopy(), false);
        settings("group", GroupConfig.CONFIG_DEF, false);
    }

    /** With hidden, none of them is described unless it is set, as is so of internal ones. */
    private static void settings(String kind, ConfigDef settings, boolean hidden) {
        for (Map.Entry<String, ConfigDef.ConfigKey> entry : settings.configKeys().entrySet()) {
            ConfigDef.ConfigKey key = entry.getValue();
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : "required";
            String internal = hidden || key.internalConfig ? " internal" : "";
            print(kind, entry.getKey(), key.type.name().toLowerCase() + " " + value + internal);
        }
    }

    private static void print(String kind, String name, Object value) {
        System.out.println(kind + "\t" + name + "\t" + value);
    }
}
