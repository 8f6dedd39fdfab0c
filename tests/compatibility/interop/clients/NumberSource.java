import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source of the numbers from 0 on, five a poll, whose offset is the next number. */
public class NumberSource extends SourceConnector {
    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> settings) {
        this.settings = settings;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Numbers.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(settings);
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> settings) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where the numbers go");
    }

    @Override
    public void stop() {
    }

    @Override
    public String version() {
        return "1";
    }

    public static class Numbers extends SourceTask {
        private static final Map<String, String> PARTITION = Map.of("numbers", "all");
        private String topic;
        private long next;

        @Override
        public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            Map<String, Object> stored = context.offsetStorageReader().offset(PARTITION);
            next = stored == null ? 0 : (Long) stored.get("next");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(20);
            List<SourceRecord> records = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                String value = Long.toString(next++);
                records.add(new SourceRecord(PARTITION, Map.of("next", next), topic, Schema.STRING_SCHEMA, value));
            }
            return records;
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
