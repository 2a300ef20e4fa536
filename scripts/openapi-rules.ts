/** The rules of OpenAPI 3.1 that client generators need, and this API's own rules. */

export interface Media {
  readonly schema: JsonObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, JsonObject>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly JsonObject[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, JsonObject>>;
}

export interface OpenApiDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The operation of a method and path. */
export function listOperations({ paths }: OpenApiDocument) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** The value that a reference points to; a value that is not a reference is returned unchanged. */
export function resolved(document: OpenApiDocument, value: JsonObject): JsonObject | undefined {
  if (typeof value['$ref'] !== 'string') return value;
  const [start, ...steps] = value['$ref'].split('/');
  if (start !== '#') return undefined;
  return steps.reduce<JsonObject | undefined>(
    (part, step) => part?.[step.replaceAll('~1', '/').replaceAll('~0', '~')] as JsonObject | undefined,
    document as unknown as JsonObject,
  );
}

/** One line per rule that the document breaks. */
export function findProblems(document: OpenApiDocument): string[] {
  return [
    ...danglingReferences(document),
    ...unusedComponents(document),
    ...badNames(document),
    ...badTags(document),
    ...listOperations(document).flatMap(({ path, operation }) =>
      problemsOfOperation(document, path, operation),
    ),
  ];
}

function danglingReferences(document: OpenApiDocument): string[] {
  return [...referencesIn(document)]
    .filter((reference) => resolved(document, { $ref: reference }) === undefined)
    .map((reference) => `${reference} resolves to nothing`);
}

function unusedComponents(document: OpenApiDocument): string[] {
  const used = referencesIn(document);
  return Object.entries(document.components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, components]) => Object.keys(components).map((name) => `#/components/${kind}/${name}`))
    .filter((reference) => !used.has(reference))
    .map((reference) => `${reference} is used nowhere`);
}

/** All references except those in examples, which are data: SCIM has fields named `$ref`. */
function referencesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) referencesIn(item, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      if (key === '$ref' && typeof part === 'string') found.add(part);
      else if (!['example', 'value', 'default', 'const', 'enum'].includes(key)) referencesIn(part, found);
    }
  }
  return found;
}

function badNames({ components }: OpenApiDocument): string[] {
  return Object.entries(components)
    .flatMap(([kind, named]) => Object.keys(named).map((name) => ({ kind, name })))
    .filter(
      ({ kind, name }) => !(kind === 'schemas' ? /^[A-Z][A-Za-z0-9]*$/ : /^[A-Za-z0-9._-]+$/).test(name),
    )
    .map(({ kind, name }) => `${name} is no name for one of the ${kind}`);
}

function badTags(document: OpenApiDocument): string[] {
  const used = new Set(listOperations(document).flatMap(({ operation }) => operation.tags));
  return document.tags
    .filter(({ name, description }) => !used.has(name) || !description.endsWith('.'))
    .map(({ name }) => `the tag ${name} has no operation or no sentence`);
}

function problemsOfOperation(document: OpenApiDocument, path: string, operation: Operation): string[] {
  const { operationId, tags, security, responses } = operation;
  const parameters = operation.parameters.map((parameter) => resolved(document, parameter) ?? {});
  const keys = parameters.map(({ in: where, name }) => `${String(where)} ${String(name)}`);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`);
  const declared = new Set(document.tags.map(({ name }) => name));
  const schemes = Object.keys(document.components['securitySchemes'] ?? {});
  const statuses = Object.entries(responses);
  const sameId = listOperations(document).filter(({ operation: other }) => other.operationId === operationId);
  const rules: [boolean, string][] = [
    [/^[a-z]+([A-Z][a-z0-9]*)*$/.test(operationId), 'is no verb and noun in camel case'],
    [sameId.length === 1, 'names two operations'],
    [tags.length === 1 && tags.every((tag) => declared.has(tag)), 'has no declared tag'],
    [new Set(keys).size === keys.length, 'declares a parameter twice'],
    [
      isSame(
        inPath,
        keys.filter((key) => key.startsWith('path ')),
      ),
      'declares other path parameters',
    ],
    [
      parameters.every(({ in: where, required }) => where !== 'path' || required === true),
      'has an optional path',
    ],
    [
      security.every((scheme) => Object.keys(scheme).every((name) => schemes.includes(name))),
      'has no such scheme',
    ],
    [statuses.some(([status]) => status < '400'), 'never succeeds'],
    [
      statuses.every(
        ([status, response]) =>
          /^[2345]\d\d$/.test(status) && typeof resolved(document, response)?.['description'] === 'string',
      ),
      'has a response without a status or a description',
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, problem]) => `${operationId} ${problem}`);
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.toSorted().join() === right.toSorted().join();
}
