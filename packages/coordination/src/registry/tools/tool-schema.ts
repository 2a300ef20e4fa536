import { isObject, keywordForms } from '@baton/values/json-schema/keywords';
import { isSecretName, redactSecrets } from '@baton/values/secret-material';
import type { Json, JsonObject } from '@baton/values/wire';
import type { SchemaRedaction } from './tool.ts';

const redacted = { redacted: true, reason: 'secret_material' };
/** These keywords may contain any text, which a model could mistake for a value that it should send. */
const dropped: ReadonlySet<string> = new Set(['default', 'examples', '$comment']);

/**
 * The schema of a tool's inputs for a harness: the keywords of the draft, without defaults, examples and the tenant's
 * other keywords. Properties that are named like a secret are omitted, and strings that are shaped like one are
 * redacted. See docs/reference/agents.md#tools.
 * @param schema a stored schema, nested at most as deeply as a document may be
 */
export function publicSchema(schema: JsonObject): { schema: JsonObject; redactions: SchemaRedaction[] } {
  const redactions: SchemaRedaction[] = [];
  return { schema: publicPart(schema, '', redactions) as JsonObject, redactions };
}

function publicPart(schema: Json, path: string, redactions: SchemaRedaction[]): Json {
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).flatMap(([keyword, value]): [string, Json][] => {
    const form = keywordForms.get(keyword);
    if (form === undefined || dropped.has(keyword)) return [];
    const at = `${path}/${pointerPart(keyword)}`;
    if (form.place === 'value') return [[keyword, withoutSecrets(value)]];
    if (form.place === 'schema') return [[keyword, publicPart(value, at, redactions)]];
    if (form.place === 'schemas')
      return [[keyword, (value as Json[]).map((one, n) => publicPart(one, `${at}/${n}`, redactions))]];
    return [[keyword, publicByName(keyword, value as JsonObject, at, redactions)]];
  });
  return Object.fromEntries(kept);
}

function publicByName(
  keyword: string,
  schemas: JsonObject,
  path: string,
  redactions: SchemaRedaction[],
): JsonObject {
  const kept = Object.entries(schemas).map(([name, schema]): [string, Json] => {
    const at = `${path}/${pointerPart(name)}`;
    if (keyword !== 'properties' || !isSecretName(name)) return [name, publicPart(schema, at, redactions)];
    redactions.push({ path: at, reason: 'secret_material' });
    return [name, { ...redacted }];
  });
  return Object.fromEntries(kept);
}

function withoutSecrets(value: Json): Json {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutSecrets(one)]));
}

function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
