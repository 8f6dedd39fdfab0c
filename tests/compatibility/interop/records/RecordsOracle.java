import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Answers one line a question about record batches with Kafka's own classes. Bytes are hex, null is "-", an empty
 * byte string is "."; see test_kafka_record_classes.py for the questions.
 */
public class RecordsOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(line.split(" ")));
            answers.flush();
        }
    }

    private static String answer(String[] question) throws Exception {
        switch (question[0]) {
            case "read":
                return read(bytes(question[1]));
            case "write":
                return write(question);
            case "validate":
                return validate(question);
            case "marker":
                return marker(question);
            case "empty":
                return empty(question);
            case "murmur2":
                return Integer.toString(Utils.murmur2(bytes(question[1])));
            case "sequence":
                int sequence = Integer.parseInt(question[1]);
                int step = Integer.parseInt(question[2]);
                return DefaultRecordBatch.incrementSequence(sequence, step) + " "
                    + DefaultRecordBatch.decrementSequence(sequence, step);
            default:
                throw new IllegalArgumentException(question[0]);
        }
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : HexFormat.of().parseHex(text.replace(".", ""));
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) {
            return "-";
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return "." + HexFormat.of().formatHex(copy);
    }

    private static String read(byte[] input) {
        StringBuilder out = new StringBuilder();
        try {
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(input)).batches()) {
                batch.ensureValid();
                out.append(String.join(",", "batch", "" + batch.baseOffset(), "" + batch.lastOffset(),
                    "" + batch.compressionType().id, "" + batch.timestampType().id, "" + batch.maxTimestamp(),
                    "" + batch.producerId(), "" + batch.producerEpoch(), "" + batch.baseSequence(),
                    "" + batch.lastSequence(), "" + batch.isTransactional(), "" + batch.isControlBatch(),
                    "" + batch.partitionLeaderEpoch(), "" + batch.countOrNull(),
                    "" + batch.deleteHorizonMs().orElse(-1), "" + batch.sizeInBytes())).append(' ');
                for (Record record : batch) {
                    out.append(String.join(",", "record", "" + record.offset(), "" + record.timestamp(),
                        "" + record.sequence(), hex(record.key()), hex(record.value())));
                    for (Header header : record.headers()) {
                        byte[] value = header.value();
                        out.append(',').append(hex(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))));
                        out.append(',').append(hex(value == null ? null : ByteBuffer.wrap(value)));
                    }
                    out.append(' ');
                    if (batch.isControlBatch()) {
                        EndTransactionMarker marker = EndTransactionMarker.deserialize(record);
                        out.append("marker," + marker.controlType() + "," + marker.coordinatorEpoch() + " ");
                    }
                }
            }
        } catch (RuntimeException error) {
            return "error " + error.getClass().getSimpleName();
        }
        return out.toString().trim();
    }

    private static Compression compression(String id, String level) {
        CompressionType type = CompressionType.forId(Integer.parseInt(id));
        if (level.equals("-")) {
            return Compression.of(type).build();
        }
        int value = Integer.parseInt(level);
        switch (type) {
            case GZIP:
                return Compression.gzip().level(value).build();
            case LZ4:
                return Compression.lz4().level(value).build();
            case ZSTD:
                return Compression.zstd().level(value).build();
            default:
                return Compression.of(type).build();
        }
    }

    private static TimestampType timestampType(String id) {
        return id.equals("1") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
    }

    /** write CODEC LEVEL BASE_OFFSET PRODUCER_ID EPOCH SEQUENCE TRANSACTIONAL LEADER_EPOCH RECORD... */
    private static String write(String[] question) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), RecordBatch.CURRENT_MAGIC_VALUE,
            compression(question[1], question[2]), TimestampType.CREATE_TIME, Long.parseLong(question[3]),
            RecordBatch.NO_TIMESTAMP, Long.parseLong(question[4]), Short.parseShort(question[5]),
            Integer.parseInt(question[6]), question[7].equals("true"), Integer.parseInt(question[8]));
        for (int i = 9; i < question.length; i++) {
            String[] parts = question[i].split(",");
            List<Header> headers = new ArrayList<>();
            for (int j = 4; j < parts.length; j += 2) {
                headers.add(new RecordHeader(new String(bytes(parts[j]), StandardCharsets.UTF_8), bytes(parts[j + 1])));
            }
            builder.appendWithOffset(Long.parseLong(parts[0]), Long.parseLong(parts[1]), bytes(parts[2]), bytes(parts[3]),
                headers.toArray(new Header[0]));
        }
        return hex(builder.build().buffer());
    }

    /** marker PRODUCER_ID EPOCH COORDINATOR_EPOCH COMMIT TIMESTAMP OFFSET LEADER_EPOCH */
    private static String marker(String[] question) {
        ControlRecordType type = question[4].equals("true") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(Long.parseLong(question[6]),
            Long.parseLong(question[5]), Integer.parseInt(question[7]), Long.parseLong(question[1]),
            Short.parseShort(question[2]), new EndTransactionMarker(type, Integer.parseInt(question[3])));
        return hex(records.buffer());
    }

    /** empty PRODUCER_ID EPOCH SEQUENCE BASE_OFFSET LAST_OFFSET LEADER_EPOCH TIMESTAMP_TYPE TIMESTAMP TXN CONTROL */
    private static String empty(String[] question) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.CURRENT_MAGIC_VALUE, Long.parseLong(question[1]),
            Short.parseShort(question[2]), Integer.parseInt(question[3]), Long.parseLong(question[4]),
            Long.parseLong(question[5]), Integer.parseInt(question[6]), timestampType(question[7]),
            Long.parseLong(question[8]), question[9].equals("true"), question[10].equals("true"));
        buffer.flip();
        return hex(buffer);
    }

    /** validate BATCH MAX_BYTES COMPACTED TIMESTAMP_TYPE BEFORE AFTER NOW CODEC (- for producer) LEVEL */
    private static String validate(String[] question) {
        try {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(question[1])));
            ProduceRequest.validateRecords((short) 9, records);
            MutableRecordBatch batch = records.batches().iterator().next();
            if (batch.baseOffset() != 0) {
                throw new InvalidRecordException("base offset");
            }
            if (batch.sizeInBytes() > Integer.parseInt(question[2])) {
                throw new RecordTooLargeException("size");
            }
            if (!((DefaultRecordBatch) batch).isValid()) {
                throw new CorruptRecordException("crc");
            }
            CompressionType source = batch.compressionType();
            Compression target = compression(question[8].equals("-") ? "" + source.id : question[8], question[9]);
            LogValidator validator = new LogValidator(records, new TopicPartition("t", 0), new FixedTime(Long.parseLong(question[7])),
                source, target, question[3].equals("true"), RecordBatch.CURRENT_MAGIC_VALUE, timestampType(question[4]),
                Long.parseLong(question[5]), Long.parseLong(question[6]), -1, AppendOrigin.CLIENT);
            LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(0),
                new NoMetrics(), BufferSupplier.NO_CACHING);
            return "ok " + result.maxTimestampMs() + " " + hex(result.validatedRecords().buffer());
        } catch (RecordValidationException error) {
            StringBuilder out = new StringBuilder("error " + Errors.forException(error.invalidException()).code());
            for (ProduceResponse.RecordError one : error.recordErrors()) {
                out.append(' ').append(one.batchIndex);
            }
            return out.toString();
        } catch (RuntimeException error) {
            return "error " + Errors.forException(error).code();
        }
    }

    private static class NoMetrics implements LogValidator.MetricsRecorder {
        public void recordInvalidMagic() { }
        public void recordInvalidOffset() { }
        public void recordInvalidSequence() { }
        public void recordInvalidChecksums() { }
        public void recordNoKeyCompactedTopic() { }
    }

    private static class FixedTime implements Time {
        private final long now;

        FixedTime(long now) {
            this.now = now;
        }

        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return 0;
        }

        public void sleep(long ms) { }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
    }
}
