/**
 * Members of a schema that Gemini's function declarations don't have, which refuse a whole list of tools for one of them.
 * The forms behind the schemas validate what is left out here.
 */
const unportable: readonly string[] = ['$schema', 'additionalProperties', 'format'];

/** The schema of a tool's arguments as clients of every model accept it. */
export function portableSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, ...rest } = schema;
  const kept = Object.entries(rest).filter(([name]) => !unportable.includes(name));
  if (properties === undefined) return Object.fromEntries(kept);
  const portable = Object.entries(properties as Record<string, Record<string, unknown>>).map(
    ([name, property]) => [name, portableSchema(property)],
  );
  return { ...Object.fromEntries(kept), properties: Object.fromEntries(portable) };
}
