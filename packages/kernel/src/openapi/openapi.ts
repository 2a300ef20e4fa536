import type { z } from 'zod';
import type { Operation } from '../http/service.ts';
import { exampleOf } from './example.ts';
import { codesOf, describeRefusals, type RefusalRules, type Refusals } from './refusals.ts';
import { type JsonSchema, readReferredName, SchemaComponents } from './schemas.ts';
import { headers, headersOf, parameterReference, parameters, usedOf } from './shared.ts';

export type { RefusalForm } from './refusals.ts';

/** A section of the API: its operations in the order in which a newcomer needs them. */
export interface Section<O extends Operation = Operation> {
  readonly tag: string;
  /** A description of the operations, in one sentence. */
  readonly about: string;
  readonly endpoints: readonly O[];
}

export interface ApiDescription extends RefusalRules {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly basePath: string;
  readonly securitySchemes: Readonly<Record<string, object>>;
  /** The schemes of which an endpoint requires one; empty if it needs no credential. */
  securityOf(endpoint: Operation): readonly string[];
}

interface Media {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, object>;
}

interface Response {
  content?: Record<string, Media>;
}

interface OperationObject {
  responses: Record<string, Response>;
  [field: string]: unknown;
}

type Paths = Record<string, Record<string, OperationObject>>;

/**
 * OpenAPI 3.1 from the declarations, with `x-permission`, `x-errors` and `x-events` on every operation. Shared parts
 * are declared once under `components`: named schemas, headers, pagination, and recurring error responses. @throws
 * Error when an operation id or a tag is declared twice, or two different schemas have the same name
 */
export function openApi(api: ApiDescription, sections: readonly Section[]): object {
  const endpoints = sections.flatMap((section) => section.endpoints);
  refuseRepeated(
    'tag',
    sections.map(({ tag }) => tag),
  );
  refuseRepeated(
    'operation id',
    endpoints.map(({ id }) => id),
  );
  const forms = new SchemaComponents();
  const refusals = describeRefusals(api, endpoints, forms);
  const provisional: Paths = {};
  for (const { tag, endpoints: listed } of sections) {
    for (const endpoint of listed) {
      const path = endpoint.root ? endpoint.path : `${api.basePath}${endpoint.path}`;
      const operation = operationOf(api, tag, endpoint, forms, refusals);
      provisional[path] = { ...provisional[path], [endpoint.method.toLowerCase()]: operation };
    }
  }
  const { schemas, finish } = forms.settle();
  const { paths, responses } = finish({ paths: provisional, responses: refusals.responses });
  const examples = addExamples(paths, schemas);
  return {
    openapi: '3.1.0',
    info: { title: api.title, version: api.version, description: api.description },
    servers: [{ url: '.' }],
    tags: sections.map(({ tag, about }) => ({ name: tag, description: about })),
    paths,
    components: {
      schemas,
      parameters: usedOf('parameters', parameters, paths),
      headers: usedOf('headers', headers, { paths, responses }),
      responses,
      examples,
      securitySchemes: api.securitySchemes,
    },
  };
}

function refuseRepeated(what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) throw new Error(`The ${what} ${repeated} is declared twice`);
}

function operationOf(
  api: ApiDescription,
  tag: string,
  endpoint: Operation,
  forms: SchemaComponents,
  refusals: Refusals,
): OperationObject {
  const security = api.securityOf(endpoint);
  return {
    operationId: endpoint.id,
    tags: [tag],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    ...(endpoint.deprecated && { deprecated: true }),
    security: security.map((scheme) => ({ [scheme]: [] })),
    parameters: parametersOf(endpoint, forms),
    ...(endpoint.body === undefined ? {} : { requestBody: requestBodyOf(endpoint, endpoint.body, forms) }),
    ...(endpoint.bytes ? { requestBody: bytesBody } : {}),
    responses: { ...refusals.answersOf(endpoint), ...returnsOf(endpoint, forms) },
    'x-permission': endpoint.permission,
    ...(endpoint.alsoOneOf.length > 0 && { 'x-permission-also': endpoint.alsoOneOf }),
    'x-errors': codesOf(api, endpoint),
    'x-events': endpoint.emits.map(({ type, version }) => ({ type, version })),
  };
}

function parametersOf(endpoint: Operation, forms: SchemaComponents): object[] {
  const named = (where: string, shape: Record<string, z.ZodType>) =>
    Object.entries(shape).map(([name, form]) => {
      // The description belongs to the parameter, where the documentation pages show it.
      const { description, ...schema } = forms.schemaOf(form, 'input');
      const required = where === 'path' || !form.safeParse(undefined).success;
      return { name, in: where, required, ...(description === undefined ? {} : { description }), schema };
    });
  const needsKey =
    endpoint.idempotency === 'required' ||
    (endpoint.idempotency === 'own' && endpoint.errors.includes('idempotency_key_required'));
  const shared = [
    ...(endpoint.paging ? (['Limit', 'Cursor'] as const) : []),
    ...(endpoint.idempotency === 'ignored'
      ? []
      : [needsKey ? ('RequiredIdempotencyKey' as const) : ('IdempotencyKey' as const)]),
    ...ifMatchParameter(endpoint),
  ];
  return [
    ...named('path', endpoint.params),
    ...named('query', endpoint.query),
    ...shared.map(parameterReference),
  ];
}

function ifMatchParameter({ ifMatch, ifMatchOptional }: Operation) {
  if (ifMatch === undefined) return [];
  return [ifMatchOptional ? ('OptionalIfMatch' as const) : ('IfMatch' as const)];
}

function requestBodyOf(endpoint: Operation, form: z.ZodType, forms: SchemaComponents): object {
  const example = endpoint.example === undefined ? {} : { example: endpoint.example };
  const media = endpoint.form ? 'application/x-www-form-urlencoded' : mediaTypeOf(form);
  const schema = forms.schemaOf(form, 'input');
  return { required: !endpoint.bodyOptional, content: { [media]: { schema, ...example } } };
}

/** Any bytes, with the Content-Type of the request. */
const bytesBody = { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };

function returnsOf(endpoint: Operation, forms: SchemaComponents): Record<string, Response> {
  const named = headersOf(
    ...(endpoint.etag === undefined ? [] : (['ETag'] as const)),
    ...(endpoint.idempotency === 'ignored' ? [] : (['Idempotency-Replayed'] as const)),
  );
  return Object.fromEntries(
    Object.entries(endpoint.returns).map(([status, form]) => [
      status,
      form === null
        ? { description: 'Done; no body.', headers: named }
        : {
            description: 'Done.',
            headers: named,
            content: { [mediaTypeOf(form)]: { schema: forms.schemaOf(form, 'output') } },
          },
    ]),
  );
}

/** A body that isn't JSON declares its type: `z.string().meta({ contentMediaType: 'text/plain' })`. */
function mediaTypeOf(form: z.ZodType): string {
  const { contentMediaType } = form.meta() ?? {};
  return typeof contentMediaType === 'string' ? contentMediaType : 'application/json';
}

/**
 * Adds an example to every successful JSON response, in place. @returns the examples of named schemas, for
 * `components`: several operations return the same one
 */
function addExamples(paths: Paths, schemas: Record<string, JsonSchema>): Record<string, object> {
  const examples: Record<string, object> = {};
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const answers = operations.flatMap(({ responses }) => Object.entries(responses));
  const successes = answers.filter(([status]) => Number(status) < 400);
  for (const [type, media] of successes.flatMap(([, { content = {} }]) => Object.entries(content))) {
    if (!type.endsWith('json')) continue;
    const { $ref } = media.schema;
    if (typeof $ref !== 'string') {
      media.example = exampleOf(media.schema, schemas);
      continue;
    }
    const name = readReferredName($ref);
    examples[name] ??= { value: exampleOf(media.schema, schemas) };
    media.examples = { [name]: { $ref: `#/components/examples/${name}` } };
  }
  return Object.fromEntries(Object.entries(examples).sort(([left], [right]) => (left < right ? -1 : 1)));
}
