import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { z } from 'zod';
import { findProblems, listOperations, type Media, type OpenApiDocument, resolved } from './openapi-rules.ts';
import { services } from './services.ts';

for (const { name, endpoints, describeApi } of services) {
  describe(`the description of ${name}`, () => {
    const document = describeApi() as OpenApiDocument;
    const endpointOf = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    const described = listOperations(document).map(({ operation }) => ({
      operation,
      endpoint: endpointOf.get(operation.operationId) ?? assert.fail(operation.operationId),
    }));

    test('keeps the rules of OpenAPI', () => {
      assert.deepEqual(findProblems(document), []);
    });

    test('has a named schema for every JSON response', () => {
      const unnamed = described
        .flatMap(({ operation }) =>
          answersOf(operation.responses)
            .filter(({ media }) => !isNamed(media.schema))
            .map(({ status }) => `${name} ${operation.operationId} ${status}`),
        )
        .toSorted();
      assert.deepEqual(unnamed, []);
    });

    test('has a named schema for every accepted body', () => {
      const unnamed = described
        .filter(({ operation: { requestBody } }) =>
          Object.values(requestBody?.content ?? {}).some(
            // Bytes have no schema.
            ({ schema }) => !isNamed(schema) && schema?.['format'] !== 'binary',
          ),
        )
        .map(({ operation }) => operation.operationId);
      assert.deepEqual(unnamed, []);
    });

    test('has a valid example of every JSON response', () => {
      const unfit = described.flatMap(({ operation, endpoint: { id, returns } }) =>
        answersOf(operation.responses).flatMap(({ status, media }) =>
          misfits(returns[Number(status)], exampleOf(document, media), `${id} ${status}`),
        ),
      );
      assert.deepEqual(unfit, []);
    });

    test('has valid examples of requests', () => {
      const shown = endpoints.filter(({ example }) => example !== undefined);
      assert.deepEqual(
        shown.flatMap(({ body, example, id }) => misfits(body, example, id)),
        [],
      );
    });
  });
}

test('a broken description is detected', () => {
  const answer = {
    description: 'Done.',
    content: { 'text/plain': { schema: { $ref: '#/components/x/Y' } } },
  };
  const operation = { operationId: 'get_x', tags: ['Other'], security: [{ token: [] }], parameters: [] };
  const broken: OpenApiDocument = {
    tags: [{ name: 'Things', description: 'Things.' }],
    paths: { '/x/{id}': { get: { ...operation, responses: { 200: answer } } } },
    components: { schemas: { thing: {} } },
  };
  assert.deepEqual(findProblems(broken), [
    '#/components/x/Y resolves to nothing',
    '#/components/schemas/thing is used nowhere',
    'thing is no name for one of the schemas',
    'the tag Things has no operation or no sentence',
    'get_x is no verb and noun in camel case',
    'get_x has no declared tag',
    'get_x declares other path parameters',
    'get_x has no such scheme',
  ]);
});

function answersOf(responses: Readonly<Record<string, unknown>>): { status: string; media: Media }[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const { content = {} } = response as { content?: Record<string, Media> };
    const json = Object.entries(content).filter(([type]) => status < '300' && type.endsWith('json'));
    return json.map(([, media]) => ({ status, media }));
  });
}

/** A component, or a list of one. */
function isNamed({ $ref, type, items }: Readonly<Record<string, unknown>>): boolean {
  return $ref !== undefined || (type === 'array' && isNamed(items as Record<string, unknown>));
}

function exampleOf(document: OpenApiDocument, { example, examples = {} }: Media): unknown {
  const [first] = Object.values(examples);
  return first === undefined ? example : resolved(document, first)?.['value'];
}

/** Returns the fault in an example. A schema's `.meta({ examples: [...] })` determines its example. */
function misfits(form: z.ZodType | null | undefined, example: unknown, what: string): string[] {
  const issues = form?.safeParse(example).error?.issues ?? [];
  return issues.map(({ path, message }) => `${what}: ${path.join('.')}: ${message}`);
}
