// The part of an OpenAPI description that clients rely on, in a form that can be compared and reviewed.

/** The operations by method and path. Fields are paths, such as `items[].id`, sorted and separated by spaces. */
export type Surface = Readonly<Record<string, SurfaceOperation>>;

export interface SurfaceOperation {
  readonly id: string;
  /** The fields of the successful responses. */
  readonly returns: string;
  /** The fields and parameters that a request may have. */
  readonly accepts: string;
  /** The required fields, if the request contains the object that they belong to. */
  readonly requires: string;
  /** Fields that will be removed, or `*` for the whole operation, each with the release date of its deprecation. */
  readonly deprecated?: Readonly<Record<string, string>>;
}

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

interface Message {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Described {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Message;
  readonly responses?: Readonly<Record<string, Message>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components?: Readonly<Record<string, unknown>>;
}

/** The surface of one service, from its OpenAPI description. */
export function surfaceOf(document: OpenApi): Surface {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId = '', parameters = [], requestBody, responses = {} }]) => {
        const request = fieldsOfMessage(requestBody ?? {}, document);
        if (requestBody !== undefined) request.set('body', requestBody.required === true);
        for (const given of parameters) {
          const { name, in: place, required = false } = resolve(given, document);
          request.set(`${place}:${name}`, required);
        }
        const returns = Object.keys(responses)
          .filter((status) => status.startsWith('2'))
          .flatMap((status) => [...fieldsOfMessage(responses[status] ?? {}, document).keys()]);
        const required = [...request].filter(([, isRequired]) => isRequired).map(([field]) => field);
        const operation: SurfaceOperation = {
          id: operationId,
          returns: line(returns),
          accepts: line(request.keys()),
          requires: line(required),
        };
        return [`${method.toUpperCase()} ${path}`, operation] as const;
      },
    ),
  );
  return Object.fromEntries(operations);
}

type Fields = Map<string, boolean>;

function fieldsOfMessage(message: Message, document: OpenApi): Fields {
  const forms = Object.values(resolve(message, document).content ?? {});
  return union(forms.map(({ schema = {} }) => fieldsOf(schema, '', document, [])));
}

/**
 * @param open the references that contain this schema: a recursive type is described up to its first repetition
 */
function fieldsOf(schema: Schema, path: string, document: OpenApi, open: readonly string[]): Fields {
  if (schema.$ref !== undefined)
    return open.includes(schema.$ref)
      ? new Map()
      : fieldsOf(resolve(schema, document), path, document, [...open, schema.$ref]);
  const inside = (one: Schema, at: string) => fieldsOf(one, at, document, open);
  const found: Fields = new Map();
  const add = (more: Fields) => more.forEach((isRequired, field) => found.set(field, isRequired));
  add(union([...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((one) => inside(one, path))));
  for (const part of schema.allOf ?? []) add(inside(part, path));
  if (schema.items !== undefined) add(inside(schema.items, `${path}[]`));
  if (typeof schema.additionalProperties === 'object') add(inside(schema.additionalProperties, `${path}{}`));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`;
    found.set(at, schema.required?.includes(name) ?? false);
    add(inside(property, at));
  }
  return found;
}

/** The fields of an object that has several forms. A field is required if every form that has fields requires it. */
function union(forms: readonly Fields[]): Fields {
  const filled = forms.filter(({ size }) => size > 0);
  const names = new Set(filled.flatMap((form) => [...form.keys()]));
  return new Map([...names].map((name) => [name, filled.every((form) => form.get(name) === true)]));
}

function resolve<T extends { readonly $ref?: string }>(value: T, { components = {} }: OpenApi): T {
  const [kind = '', name = ''] = value.$ref?.split('/').slice(-2) ?? [];
  return value.$ref === undefined ? value : ((components[kind] as Record<string, T>)[name] as T);
}

const line = (fields: Iterable<string>) => [...new Set(fields)].toSorted().join(' ');
