import { z } from 'zod';
import { queryShapeOf } from './input.ts';
import type { ErrorTable } from './refusal.ts';
import type { Operation } from './service.ts';

export interface ApiDescription {
  title: string;
  version: string;
  description: string;
  basePath: string;
  errors: ErrorTable;
  /** The form of every error answer, but those that `refusalOf` names another one for. */
  errorSchema: z.ZodType;
  /** Other forms of error answers, by name. */
  otherErrorSchemas?: Record<string, z.ZodType>;
  /** How an endpoint answers a code, where that is not as the table of errors has it. */
  refusalOf?(endpoint: Operation, code: string): RefusalForm | undefined;
  /** Under which heading an endpoint stands; by default under the first noun of its path. */
  tagOf?(endpoint: Operation): string;
  /** How the credential of an endpoint travels, by `auth`; `default` for the usual one. */
  securitySchemes: Record<string, object>;
  securityOf(endpoint: Operation): string | undefined;
  /** The codes that the pipeline itself may answer at this endpoint. */
  pipelineCodesOf(endpoint: Operation): readonly string[];
}

export interface RefusalForm {
  readonly status: number;
  /** `Error`, or a name among `otherErrorSchemas`. */
  readonly schema: string;
  readonly mediaType: string;
}

/** OpenAPI 3.1 from the declarations, with `x-permission`, `x-errors` and `x-events` on every operation. */
export function openApi(api: ApiDescription, endpoints: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.root ? endpoint.path : `${api.basePath}${endpoint.path}`;
    const operations = paths[path] ?? {};
    paths[path] = operations;
    operations[endpoint.method.toLowerCase()] = operationOf(api, endpoint);
  }
  return {
    openapi: '3.1.0',
    info: { title: api.title, version: api.version, description: api.description },
    servers: [{ url: './' }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries({ Error: api.errorSchema, ...api.otherErrorSchemas }).map(([name, schema]) => [
          name,
          jsonSchema(schema, 'output'),
        ]),
      ),
      securitySchemes: api.securitySchemes,
    },
  };
}

function operationOf(api: ApiDescription, endpoint: Operation): object {
  const codes = [...new Set([...endpoint.errors, ...api.pipelineCodesOf(endpoint)])];
  const security = api.securityOf(endpoint);
  return {
    operationId: endpoint.id,
    tags: [api.tagOf?.(endpoint) ?? firstNounOf(endpoint)],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    ...(security === undefined ? { security: [] } : { security: [{ [security]: [] }] }),
    parameters: parametersOf(endpoint),
    ...(endpoint.body === undefined ? {} : { requestBody: requestBodyOf(endpoint) }),
    responses: { ...successesOf(endpoint), ...refusalsOf(api, endpoint, codes) },
    'x-permission': endpoint.permission,
    'x-errors': codes,
    'x-events': endpoint.emits.map(({ type, version }) => ({ type, version })),
  };
}

function firstNounOf({ path }: Pick<Operation, 'path'>): string {
  return path.split(/[/:]/)[1] ?? '';
}

function parametersOf(endpoint: Operation): object[] {
  const named = (where: string, shape: Record<string, z.ZodType>) =>
    Object.entries(shape).map(([name, schema]) => {
      // Of the parameter, not of its form: there the pages for people show it.
      const { description, ...form } = jsonSchema(schema, 'input');
      const required = where === 'path' || !schema.safeParse(undefined).success;
      return { name, in: where, required, description, schema: form };
    });
  const header = (name: string, required: boolean, description: string) => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type: 'string' },
  });
  const headers = [];
  if (endpoint.idempotency !== 'ignored') {
    const required =
      endpoint.idempotency === 'required' || endpoint.errors.includes('idempotency_key_required');
    headers.push(
      header('Idempotency-Key', required, 'The same key and request give the same answer, executed once.'),
    );
  }
  if (endpoint.ifMatch !== undefined)
    headers.push(header('If-Match', true, `The tag that was read: "${endpoint.ifMatch}-<version>".`));
  return [...named('path', endpoint.params), ...named('query', queryShapeOf(endpoint)), ...headers];
}

function requestBodyOf(endpoint: Operation): object {
  const schema = jsonSchema(endpoint.body as z.ZodType, 'input');
  const example = endpoint.example === undefined ? {} : { example: endpoint.example };
  const media = endpoint.form ? 'application/x-www-form-urlencoded' : mediaTypeOf(endpoint.body as z.ZodType);
  return { required: !endpoint.bodyOptional, content: { [media]: { schema, ...example } } };
}

function successesOf(endpoint: Operation): Record<string, object> {
  return Object.fromEntries(
    Object.entries(endpoint.returns).map(([status, schema]) => [
      status,
      schema === null
        ? { description: 'Done; no body.' }
        : {
            description: 'Done.',
            content: { [mediaTypeOf(schema)]: { schema: jsonSchema(schema, 'output') } },
          },
    ]),
  );
}

/** A body that isn't JSON says so: `z.string().meta({ contentMediaType: 'text/plain' })`. */
function mediaTypeOf(schema: z.ZodType): string {
  const { contentMediaType } = schema.meta() ?? {};
  return typeof contentMediaType === 'string' ? contentMediaType : 'application/json';
}

function refusalsOf(
  api: ApiDescription,
  endpoint: Operation,
  codes: readonly string[],
): Record<string, object> {
  const answers = codes.flatMap((code) => formsOf(api, endpoint, code).map((form) => ({ code, ...form })));
  return Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, group]) => [
      status,
      {
        description: group.map(({ code }) => `\`${code}\`: ${api.errors[code]?.when ?? ''}`).join('\n\n'),
        content: Object.fromEntries(
          group.map(({ mediaType, schema }) => [
            mediaType,
            { schema: { $ref: `#/components/schemas/${schema}` } },
          ]),
        ),
      },
    ]),
  );
}

function formsOf(api: ApiDescription, endpoint: Operation, code: string): RefusalForm[] {
  const own = api.refusalOf?.(endpoint, code);
  if (own !== undefined) return [own];
  const { status = 500, otherStatus } = api.errors[code] ?? {};
  const hasBoth = otherStatus !== undefined && endpoint.errors.includes(code);
  const statuses = hasBoth ? [status, otherStatus] : [status];
  return statuses.map((one) => ({ status: one, schema: 'Error', mediaType: 'application/json' }));
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' });
  return rest;
}
