import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint, Operation } from '@baton/kernel/http/service';
import { anchorsOf } from './docs/headings.ts';
import { writeErrors } from './generate-errors.ts';
import { services } from './services.ts';

/** Advice is useless if it fits every code. */
const generic = [/^Fix the request\.?$/, /^Read the state again/, /^Check the identifier and the tenant/];
const sharedMax = 5;
const rows = services.flatMap((service) =>
  Object.entries(service.errors).map(([code, row]) => ({ service, code, row })),
);

describe('the error codes', () => {
  test('each have advice of their own', () => {
    const shared = [...Map.groupBy(rows, ({ row }) => row.react)]
      .filter(([react, same]) => same.length > sharedMax || generic.some((form) => form.test(react)))
      .map(([react, same]) => `${react} (${same.map(({ code }) => code).join(', ')})`);
    assert.deepEqual(shared, []);
  });

  test('state what happened and what to do in sentences', () => {
    const fragments = rows
      .filter(({ row }) => [row.when, row.react].some((text) => !/^[A-Z`].*\.$/.test(text)))
      .map(({ code }) => code);
    assert.deepEqual(fragments, []);
  });

  test('name only endpoints and settings that exist', () => {
    const unknown = rows.flatMap(({ service, code, row }) => {
      const text = `${row.when} ${row.react}`;
      const paths = [...text.matchAll(/`(?<method>GET|POST|PUT|PATCH|DELETE) (?<path>[/…][^`?\s]*)/g)]
        .map(({ groups: { method = '', path = '' } = {} }) => ({ method, path }))
        .filter(
          ({ method, path }) => !service.endpoints.some((one) => one.method === method && isPath(one, path)),
        );
      // A service may refer to a setting of the other one.
      const settings = [...text.matchAll(/\b(?:CP|IAM)_[A-Z_]+\b/g)].filter(
        ([name]) => !services.some((one) => name in one.settings),
      );
      return [
        ...paths.map(({ method, path }) => `${code}: ${method} ${path}`),
        ...settings.map(([name]) => `${code}: ${name}`),
      ];
    });
    assert.deepEqual(unknown, []);
  });

  test('each are the anchor of one section of the page', () => {
    const { text } = writeErrors(services);
    const anchors = anchorsOf(text);
    for (const { code, row } of rows) {
      assert.ok(anchors.has(code), code);
      assert.equal(text.split(`\n### ${code}\n`).length, 2, code);
      assert.ok(row.example === undefined || text.includes(row.example.right), code);
    }
  });
});

for (const { service, code, row } of rows)
  if (row.example !== undefined) {
    const { refused, right } = row.example;
    test(`the example of ${service.name}'s ${code} shows a refused request and one that is accepted`, () => {
      assert.notEqual(refused, right);
      const isRouting = code === 'method_not_allowed';
      if (!isRouting) assert.ok(codesOf(endpointFor(refused, service.endpoints)).includes(code), refused);
      assertAccepted(right, endpointFor(right, service.endpoints));
    });

    const codesOf = (endpoint: Operation) => [...endpoint.errors, ...service.pipelineCodesOf(endpoint)];
  }

/** @throws AssertionError if the query, the headers or the body don't match the endpoint's declaration */
function assertAccepted(example: string, endpoint: Operation): void {
  const { query, headers, body } = partsOf(example);
  for (const name of query.keys())
    assert.ok(name in endpoint.query || name === 'limit', `${name} in the query`);
  if (endpoint.ifMatch !== undefined && !endpoint.ifMatchOptional)
    assert.match(headers.get('if-match') ?? '', new RegExp(`^"${endpoint.ifMatch}-\\d+"$`), example);
  if (endpoint.idempotency === 'required') assert.ok(headers.has('idempotency-key'), example);
  if (endpoint.body === undefined) return assert.equal(body, undefined, example);
  const sent: unknown = endpoint.form
    ? Object.fromEntries(new URLSearchParams(body))
    : JSON.parse(withIds(body ?? '{}'));
  const { success, error, data } = endpoint.body.safeParse(sent);
  assert.ok(success, `${example}: ${error?.message}`);
  (endpoint as Partial<Endpoint>).precheck?.({ params: {}, query: {}, body: data } as never);
}

function endpointFor(example: string, endpoints: readonly Operation[]): Operation {
  const { method, path } = partsOf(example);
  const isOf = (endpoint: Operation, form: RegExp) => endpoint.method === method && form.test(path);
  const exact = endpoints.find((endpoint) => endpoint.method === method && endpoint.path === path);
  const found = exact ?? endpoints.find((endpoint) => isOf(endpoint, formOf(endpoint.path)));
  return found ?? assert.fail(`no endpoint for ${method} ${path}`);
}

/** `…` abbreviates the start of a path. */
const isPath = (endpoint: Operation, path: string) =>
  path.startsWith('…') ? endpoint.path.endsWith(path.slice(1)) : endpoint.path === path;

const formOf = (path: string) =>
  new RegExp(`^${path.replaceAll(/[.+]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);

function partsOf(example: string) {
  const [first = '', ...lines] = example.split('\n');
  const {
    method = '',
    target = '',
    body,
  } = /^(?<method>[A-Z]+) (?<target>\S+)(?: (?<body>.+))?$/.exec(first)?.groups ?? assert.fail(example);
  const [path = '', query] = target.split('?');
  const headers = new Headers(
    lines.map((line) => line.replaceAll('…', '...').split(': ') as [string, string]),
  );
  return { method, path, query: new URLSearchParams(query), headers, body };
}

/**
 * `"<taskId>"` is a placeholder for an id.
 */
const withIds = (body: string) => body.replaceAll(/"<\w+>"/g, '"018f0000-0000-7000-8000-000000000000"');
