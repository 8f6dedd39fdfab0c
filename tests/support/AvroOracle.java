import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.DecoderFactory;

/**
 * Reads Avro by Java's own GenericDatumReader, with its conversions of logical types.
 *
 * <p>Each line of standard input is JSON: {@code writer} and {@code reader}, texts of schemas, and {@code bytes}, in hex.
 * Each line of standard output is the value, every part with its kind, or why there is none.
 */
public class AvroOracle {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> answer = new LinkedHashMap<>();
      try {
        answer.put("value", shown(read(JSON.readTree(line))));
      } catch (Exception refused) {
        answer.put("refused", refused.getClass().getSimpleName() + ": " + refused.getMessage());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private static Object read(JsonNode asked) throws Exception {
    Schema writer = new Schema.Parser().parse(asked.get("writer").asText());
    Schema reader = new Schema.Parser().parse(asked.get("reader").asText());
    GenericDatumReader<Object> datum = new GenericDatumReader<>(writer, reader, data());
    byte[] bytes = java.util.HexFormat.of().parseHex(asked.get("bytes").asText());
    return datum.read(null, DecoderFactory.get().binaryDecoder(bytes, null));
  }

  private static GenericData data() {
    GenericData data = new GenericData();
    data.addLogicalTypeConversion(new Conversions.DecimalConversion());
    data.addLogicalTypeConversion(new Conversions.UUIDConversion());
    data.addLogicalTypeConversion(new TimeConversions.DateConversion());
    data.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
    data.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
    data.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
    data.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
    data.addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
    data.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
    return data;
  }

  private static Object shown(Object value) {
    if (value == null || value instanceof Boolean) {
      return value;
    }
    if (value instanceof IndexedRecord record) {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (Schema.Field field : record.getSchema().getFields()) {
        fields.put(field.name(), shown(record.get(field.pos())));
      }
      return Map.of("record", record.getSchema().getFullName(), "fields", fields);
    }
    if (value instanceof Map<?, ?> map) {
      Map<String, Object> entries = new LinkedHashMap<>();
      map.forEach((name, inner) -> entries.put(name.toString(), shown(inner)));
      return Map.of("map", entries);
    }
    if (value instanceof List<?> list) {
      List<Object> items = new ArrayList<>();
      list.forEach(item -> items.add(shown(item)));
      return items;
    }
    return kind(value);
  }

  private static String kind(Object value) {
    if (value instanceof ByteBuffer buffer) {
      byte[] held = new byte[buffer.remaining()];
      buffer.duplicate().get(held);
      return "bytes " + java.util.HexFormat.of().formatHex(held);
    }
    if (value instanceof GenericFixed fixed) {
      return "bytes " + java.util.HexFormat.of().formatHex(fixed.bytes());
    }
    if (value instanceof Integer || value instanceof Long) {
      return "int " + value;
    }
    if (value instanceof Float number) {
      return "float " + number.doubleValue();
    }
    if (value instanceof Double number) {
      return "float " + number;
    }
    if (value instanceof BigDecimal number) {
      return "decimal " + number.toPlainString();
    }
    if (value instanceof UUID) {
      return "uuid " + value;
    }
    return time(value);
  }

  private static String time(Object value) {
    if (value instanceof Instant at) {
      return "moment " + Math.addExact(Math.multiplyExact(at.getEpochSecond(), 1_000_000L), at.getNano() / 1000);
    }
    if (value instanceof LocalDateTime at) {
      Instant moment = at.toInstant(ZoneOffset.UTC);
      return "local " + Math.addExact(Math.multiplyExact(moment.getEpochSecond(), 1_000_000L), moment.getNano() / 1000);
    }
    if (value instanceof LocalDate day) {
      return "date " + day.toEpochDay();
    }
    if (value instanceof LocalTime time) {
      return "time " + time.toNanoOfDay() / 1000;
    }
    return "text " + value;
  }
}
