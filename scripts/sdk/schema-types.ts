/** The members of a JSON Schema in the OpenAPI documents that describe a type. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly description?: string;
}

/** The TypeScript type that describes the values of a schema; `unknown` if the schema does not restrict them. */
export function writeType(schema: Schema): string {
  if (schema.$ref !== undefined) return nameIn(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return union(choices.map(writeType));
  if (schema.type === undefined) return 'unknown';
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
  return union(types.map((type) => typeOfKind(type, schema)));
}

/** `#/components/schemas/Task` is `Task`. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** A comment of one line above a member or a method; empty if there is no text. */
export function writeComment(text: string | undefined): string {
  const line = text?.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim() ?? '';
  return line === '' ? '' : `/** ${line} */\n`;
}

function typeOfKind(type: string, schema: Schema): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return listOf(schema.items === undefined ? 'unknown' : writeType(schema.items));
  if (type === 'object') return objectType(schema);
  return type;
}

function listOf(item: string): string {
  return /^[\w.]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const isOptional = !required.includes(name);
    return `${writeComment(schema.description)}${writeKey(name)}${isOptional ? '?' : ''}: ${writeType(schema)};`;
  });
  if (members.length > 0) return `{\n${members.join('\n')}\n}`;
  if (additionalProperties === false) return 'Record<string, never>';
  const values = typeof additionalProperties === 'object' ? writeType(additionalProperties) : 'unknown';
  return `Record<string, ${values}>`;
}

/** A name as the key of a member. */
export function writeKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ');
}
