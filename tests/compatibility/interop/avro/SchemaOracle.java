import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;

/**
 * Reads schemas by Java's own parser, with the settings that Confluent's registry gives it.
 *
 * <p>Each line of standard input is a JSON array of texts: a schema after those that it refers to; or a JSON object: a
 * {@code reader} and a {@code writer}. Each line of standard output is a JSON object: {@code text}, or {@code readable},
 * or why there is neither.
 */
public class SchemaOracle {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        JsonNode asked = JSON.readTree(line);
        if (asked.isArray()) {
          answer.put("text", written(asked));
        } else {
          answer.put("readable", isReadable(asked));
        }
      } catch (Exception refused) {
        answer.put("refused", refused.getClass().getSimpleName() + ": " + refused.getMessage());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private static Schema.Parser parser() {
    Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
    parser.setValidateDefaults(true);
    return parser;
  }

  private static String written(JsonNode texts) {
    Schema.Parser parser = parser();
    List<Schema> parsed = new ArrayList<>();
    for (JsonNode text : texts) {
      parsed.add(parser.parse(text.asText()));
    }
    Schema schema = parsed.remove(parsed.size() - 1);
    checkNames(schema, Collections.newSetFromMap(new IdentityHashMap<>()));
    return schema.toString(parsed, false);
  }

  private static boolean isReadable(JsonNode asked) {
    Schema reader = parser().parse(asked.get("reader").asText());
    Schema writer = parser().parse(asked.get("writer").asText());
    return SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getType()
        == SchemaCompatibilityType.COMPATIBLE;
  }

  private static void checkNames(Schema schema, Set<Schema> seen) {
    if (!seen.add(schema)) {
      return;
    }
    switch (schema.getType()) {
      case RECORD:
        checkName(schema.getName());
        for (Schema.Field field : schema.getFields()) {
          checkName(field.name());
          checkNames(field.schema(), seen);
        }
        break;
      case ENUM:
        checkName(schema.getName());
        schema.getEnumSymbols().forEach(SchemaOracle::checkName);
        break;
      case FIXED:
        checkName(schema.getName());
        break;
      case ARRAY:
        checkNames(schema.getElementType(), seen);
        break;
      case MAP:
        checkNames(schema.getValueType(), seen);
        break;
      case UNION:
        schema.getTypes().forEach(branch -> checkNames(branch, seen));
        break;
      default:
    }
  }

  private static void checkName(String name) {
    NameValidator.Result result = NameValidator.UTF_VALIDATOR.validate(name);
    if (!result.isOK()) {
      throw new IllegalArgumentException(result.getErrors());
    }
  }
}
