/**
 * Members of a schema that Gemini's function declarations don't support: one of them makes Gemini reject the whole list
 * of tools. The schemas of the server still validate the constraints that are omitted here.
 */
const unportable: readonly string[] = ['$schema', 'additionalProperties', 'format'];

/** Returns the schema of a tool's arguments in a form that clients for all models accept. */
export function portableSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, ...rest } = schema;
  const kept = Object.entries(rest).filter(([name]) => !unportable.includes(name));
  if (properties === undefined) return Object.fromEntries(kept);
  const portable = Object.entries(properties as Record<string, Record<string, unknown>>).map(
    ([name, property]) => [name, portableSchema(property)],
  );
  return { ...Object.fromEntries(kept), properties: Object.fromEntries(portable) };
}
