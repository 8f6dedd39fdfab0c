import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.WindowStore;

/** Kafka Streams joins streams and tables exactly once: StreamsJoins SERVERS NAME STATE_FOLDER; runs until standard input ends. */
public class StreamsJoins {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[1];
        var settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", name);
        settings.put("state.dir", arguments[2]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("replication.factor", "1");
        settings.put("num.standby.replicas", "1");
        settings.put("commit.interval.ms", "200");
        settings.put("max.task.idle.ms", "1000");
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("consumer.session.timeout.ms", "6000");
        settings.put("consumer.heartbeat.interval.ms", "500");
        settings.put("consumer.auto.offset.reset", "earliest");
        var builder = new StreamsBuilder();
        KStream<String, String> left = builder.stream(name + "-left"), right = builder.stream(name + "-right");
        left.join(right, (a, b) -> a + "+" + b, JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(10), Duration.ofHours(3)))
            .to(name + "-pairs");
        KTable<String, String> users = builder.table(name + "-users");
        left.leftJoin(users, (a, user) -> a + "@" + user).to(name + "-enriched");
        KTable<String, String> orders = builder.table(name + "-orders"), owners = builder.table(name + "-owners");
        orders.join(owners, order -> order.split(":")[0], (order, owner) -> order + "/" + owner).toStream().to(name + "-owned");
        left.groupBy((key, value) -> value.substring(0, 1), Grouped.with(Serdes.String(), Serdes.String()))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(60), Duration.ofHours(3)))
            .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("counts").withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
            .toStream()
            .map((key, count) -> KeyValue.pair(key.key(), key.window().start() + "=" + count))
            .to(name + "-closed");
        try (var streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            while (System.in.read() >= 0);
        }
    }
}
