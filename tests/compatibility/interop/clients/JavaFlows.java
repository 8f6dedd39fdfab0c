import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.*;

/** Flows of Apache Kafka's Java client, unmodified; prints one JSON object with what each saw. Run by test_java_clients.py. */
public class JavaFlows {
    static final long WAIT_MS = 60_000;
    static final Duration POLL = Duration.ofMillis(50);
    static String servers;
    static Admin admin;

    record Read(int partition, long offset, String value) {}

    static Properties settings(String... pairs) {
        var settings = new Properties();
        settings.put("bootstrap.servers", servers);
        for (int i = 0; i < pairs.length; i += 2) settings.put(pairs[i], pairs[i + 1]);
        return settings;
    }

    static KafkaProducer<String, String> producer(String transactionalId) {
        var settings = settings("batch.size", "512", "enable.idempotence", "true");
        if (transactionalId != null) settings.put("transactional.id", transactionalId);
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        if (transactionalId != null) producer.initTransactions();
        return producer;
    }

    static KafkaConsumer<String, String> consumer(String protocol, String topic, String group, String isolation) {
        var settings = settings("group.id", group, "group.protocol", protocol, "isolation.level", isolation,
            "auto.offset.reset", "earliest", "enable.auto.commit", "false", "fetch.max.wait.ms", "100");
        if (protocol.equals("classic")) settings.put("heartbeat.interval.ms", "200");
        var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    static String topic(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    static void send(KafkaProducer<String, String> producer, String topic, List<String> values, int partitions) throws Exception {
        var sent = new ArrayList<java.util.concurrent.Future<RecordMetadata>>();
        for (int i = 0; i < values.size(); i++) sent.add(producer.send(new ProducerRecord<>(topic, i % partitions, null, values.get(i))));
        producer.flush();
        for (var one : sent) one.get();
    }

    static List<String> numbered(String prefix, int count) {
        var values = new ArrayList<String>();
        for (int i = 0; i < count; i++) values.add(prefix + i);
        return values;
    }

    static void await(Callable<Boolean> condition, String what) throws Exception {
        long end = System.nanoTime() + WAIT_MS * 1_000_000;
        while (!condition.call()) if (System.nanoTime() > end) throw new IllegalStateException("not in time: " + what);
    }

    /** What the consumer reads until it has so many records, and one more poll finds no more. */
    static List<Read> gather(KafkaConsumer<String, String> consumer, int count) throws Exception {
        var reads = new ArrayList<Read>();
        Callable<Boolean> poll = () -> {
            consumer.poll(POLL).forEach(r -> reads.add(new Read(r.partition(), r.offset(), r.value())));
            return reads.size() >= count;
        };
        await(poll, count + " records");
        poll.call();
        return reads;
    }

    static List<String> values(String protocol, String topic, String isolation, int count) throws Exception {
        try (var consumer = consumer(protocol, topic, topic + isolation, isolation)) {
            return gather(consumer, count).stream().map(Read::value).toList();
        }
    }

    static Map<TopicPartition, OffsetAndMetadata> next(String topic, List<Read> reads) {
        var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
        for (var read : reads) offsets.put(new TopicPartition(topic, read.partition()), new OffsetAndMetadata(read.offset() + 1));
        return offsets;
    }

    static Object idempotent(String protocol, String name) throws Exception {
        topic(name, 1);
        try (var producer = producer(null)) {
            send(producer, name, numbered("", 300), 1);
        }
        var states = admin.describeProducers(List.of(new TopicPartition(name, 0))).all().get().values().iterator().next().activeProducers();
        return Map.of("values", values(protocol, name, "read_committed", 300), "sequences", states.stream().map(s -> s.lastSequence()).toList());
    }

    static List<Integer> sizes(List<KafkaConsumer<String, String>> members) {
        return members.stream().map(m -> m.assignment().size()).toList();
    }

    /** Rounds of records read by one member, by two, and by the one that is left: how often each value came. */
    static Object rebalance(String protocol, String name) throws Exception {
        topic(name, 4);
        var counts = new TreeMap<String, Integer>();
        var shares = new ArrayList<List<Integer>>();
        var first = consumer(protocol, name, name, "read_committed");
        var second = consumer(protocol, name, name, "read_committed");
        try (var producer = producer(null)) {
            var all = List.of(List.of(first), List.of(first, second), List.of(second));
            for (int round = 0; round < 3; round++) {
                var members = all.get(round);
                if (round == 2) first.close();
                var wanted = members.size() == 1 ? List.of(4) : List.of(2, 2);
                Callable<Boolean> settled = () -> {
                    for (var member : members) member.poll(POLL).forEach(r -> counts.merge(r.value(), 1, Integer::sum));
                    return sizes(members).equals(wanted);
                };
                await(settled, "assignment " + wanted + " in round " + round);
                send(producer, name, numbered(round + "-", 40), 4);
                var seen = new int[1];
                await(() -> {
                    for (var member : members) {
                        var records = member.poll(POLL);
                        records.forEach(r -> counts.merge(r.value(), 1, Integer::sum));
                        seen[0] += records.count();
                        if (!records.isEmpty()) member.commitSync();
                    }
                    return seen[0] >= 40;
                }, "records of round " + round);
                shares.add(sizes(members));
            }
            var committed = admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get();
            var group = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
            return Map.of("shares", shares, "values", counts.size(), "most", Collections.max(counts.values()),
                "committed", committed.values().stream().map(OffsetAndMetadata::offset).sorted().toList(),
                "group", List.of(group.type().toString(), group.groupState().toString(), group.members().size()));
        } finally {
            first.close();
            second.close();
        }
    }

    static Object transactions(String protocol, String name) throws Exception {
        topic(name, 1);
        try (var producer = producer(name)) {
            for (String outcome : List.of("committed", "aborted", "last")) {
                producer.beginTransaction();
                send(producer, name, numbered(outcome, 30), 1);
                if (outcome.equals("aborted")) producer.abortTransaction(); else producer.commitTransaction();
            }
        }
        return Map.of("committed", values(protocol, name, "read_committed", 60), "all", values(protocol, name, "read_uncommitted", 90));
    }

    static Object consumeTransformProduce(String protocol, String name) throws Exception {
        String source = topic(name + "-in", 2), target = topic(name + "-out", 1);
        try (var producer = producer(null)) {
            send(producer, source, numbered("v", 20), 2);
        }
        var committed = new ArrayList<List<Long>>();
        for (boolean commit : List.of(false, true)) {
            try (var producer = producer(name); var consumer = consumer(protocol, source, name, "read_committed")) {
                var reads = gather(consumer, 20);
                producer.beginTransaction();
                send(producer, target, reads.stream().map(r -> r.value().toUpperCase()).toList(), 1);
                producer.sendOffsetsToTransaction(next(source, reads), consumer.groupMetadata());
                if (commit) producer.commitTransaction(); else producer.abortTransaction();
                var offsets = admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().values();
                committed.add(offsets.stream().filter(Objects::nonNull).map(OffsetAndMetadata::offset).toList());
            }
        }
        var out = values(protocol, target, "read_committed", 20);
        return Map.of("out", new TreeSet<>(out), "count", out.size(), "all", values(protocol, target, "read_uncommitted", 40).size(),
            "offsets", committed);
    }

    static Object zombie(String protocol, String name) throws Exception {
        topic(name, 1);
        var zombie = producer(name);
        zombie.beginTransaction();
        send(zombie, name, List.of("zombie"), 1);
        String fenced = "not fenced";
        try (var fresh = producer(name)) {
            try {
                zombie.commitTransaction();
            } catch (ProducerFencedException | InvalidProducerEpochException error) {
                fenced = error.getClass().getSimpleName();
            }
            fresh.beginTransaction();
            send(fresh, name, List.of("fresh"), 1);
            fresh.commitTransaction();
        }
        zombie.close(Duration.ZERO);
        return Map.of("fenced", fenced, "committed", values(protocol, name, "read_committed", 1));
    }

    /** A member that left the group cannot commit offsets in a transaction. */
    static Object staleMember(String protocol, String name) throws Exception {
        topic(name, 1);
        var left = consumer(protocol, name, name, "read_committed");
        await(() -> {
            left.poll(POLL);
            return left.assignment().size() == 1;
        }, "assignment");
        var membership = left.groupMetadata();
        left.close();
        String refused = "not refused";
        try (var producer = producer(name)) {
            producer.beginTransaction();
            send(producer, name, List.of("of a member that left"), 1);
            try {
                producer.sendOffsetsToTransaction(Map.of(new TopicPartition(name, 0), new OffsetAndMetadata(1)), membership);
                producer.commitTransaction();
            } catch (CommitFailedException error) {
                refused = error.getClass().getSimpleName();
            }
            producer.abortTransaction();
        }
        return Map.of("refused", refused, "offsets", admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().size());
    }

    interface Flow {
        Object run(String protocol, String name) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        admin = Admin.create(settings());
        var flows = new LinkedHashMap<String, Flow>();
        flows.put("idempotent", JavaFlows::idempotent);
        flows.put("rebalance", JavaFlows::rebalance);
        flows.put("transactions", JavaFlows::transactions);
        flows.put("consume_transform_produce", JavaFlows::consumeTransformProduce);
        flows.put("zombie", JavaFlows::zombie);
        flows.put("stale_member", JavaFlows::staleMember);
        var seen = new LinkedHashMap<String, Map<String, Object>>();
        for (String protocol : List.of("classic", "consumer")) {
            var results = new LinkedHashMap<String, Object>();
            for (var flow : flows.entrySet()) {
                try {
                    results.put(flow.getKey(), flow.getValue().run(protocol, "java-" + protocol + "-" + flow.getKey().replace('_', '-')));
                } catch (Exception problem) {
                    results.put(flow.getKey(), Map.of("error", problem.toString()));
                }
            }
            seen.put(protocol, results);
        }
        admin.close();
        System.err.println(new ObjectMapper().writeValueAsString(seen));
    }
}
