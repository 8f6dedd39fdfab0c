import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

/** Kafka Streams counts words exactly once: WordCount SERVERS NAME STATE_FOLDER [SETTING=VALUE]; runs until standard input ends. */
public class WordCount {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[1];
        var settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", name);
        settings.put("state.dir", arguments[2]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("replication.factor", "1");
        settings.put("commit.interval.ms", "200");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("num.stream.threads", "2");
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("consumer.session.timeout.ms", "6000");
        settings.put("consumer.heartbeat.interval.ms", "500");
        settings.put("consumer.auto.offset.reset", "earliest");
        settings.put("consumer.max.poll.records", "200");
        if (arguments.length > 3) settings.put(arguments[3].split("=")[0], arguments[3].split("=")[1]);
        var builder = new StreamsBuilder();
        builder.<String, String>stream(name + "-in")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Named.as("counts"))
            .toStream()
            .to(name + "-out", Produced.with(Serdes.String(), Serdes.Long()));
        try (var streams = new KafkaStreams(builder.build(), settings)) {
            streams.setUncaughtExceptionHandler(problem -> {
                problem.printStackTrace();
                return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            while (System.in.read() >= 0);
        }
    }
}
