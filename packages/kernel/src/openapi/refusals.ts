import type { z } from 'zod';
import type { ErrorTable } from '../http/refusal.ts';
import type { Operation } from '../http/service.ts';
import type { SchemaComponents } from './schemas.ts';
import { headersOf } from './shared.ts';

/** The response for one code at one endpoint. */
export interface RefusalForm {
  readonly status: number;
  readonly error: z.ZodType;
  readonly mediaType: string;
}

export interface RefusalRules {
  readonly errors: ErrorTable;
  /** The schema of every error response, unless `refusalOf` returns another. */
  readonly error: z.ZodType;
  /** The response for a code at an endpoint, if it differs from the table of errors. */
  refusalOf?(endpoint: Operation, code: string): RefusalForm;
  /** The codes that the pipeline itself may return at this endpoint. */
  pipelineCodesOf(endpoint: Operation): readonly string[];
}

interface Answer {
  readonly status: number;
  readonly codes: readonly string[];
  readonly name: string;
  readonly response: object;
  /** Two responses with the same text are equal. */
  readonly text: string;
}

/** The name of a response with more codes would be too long: such a response is described inline. */
const sharedCodesMax = 4;

export interface Refusals {
  /** The error responses of an operation by status. */
  answersOf(endpoint: Operation): Record<string, object>;
  /** The responses of several operations, by name. */
  readonly responses: Record<string, object>;
}

/** The codes that an operation may return: its own in the order of its checks, then those of the pipeline. */
export function codesOf(rules: RefusalRules, endpoint: Operation): string[] {
  return [...new Set([...endpoint.errors, ...rules.pipelineCodesOf(endpoint)])];
}

/**
 * Describes the error responses of all operations. A recurring response is described once and named by its codes.
 * @throws Error when two recurring responses would have the same name
 */
export function describeRefusals(
  rules: RefusalRules,
  endpoints: readonly Operation[],
  schemas: SchemaComponents,
): Refusals {
  const answers = new Map(endpoints.map((endpoint) => [endpoint, answersAt(rules, endpoint, schemas)]));
  const byText = Map.groupBy([...answers.values()].flat(), ({ text }) => text);
  const recurring = [...byText.values()]
    .filter(([first, second]) => second !== undefined && (first?.codes.length ?? 0) <= sharedCodesMax)
    .map(([first]) => first as Answer);
  const responses: Record<string, object> = {};
  for (const { name, response } of recurring.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    if (responses[name] !== undefined) throw new Error(`Two different responses would be named ${name}`);
    responses[name] = response;
  }
  const isShared = new Set(recurring.map(({ text }) => text));
  return {
    responses,
    answersOf: (endpoint) =>
      Object.fromEntries(
        (answers.get(endpoint) ?? []).map(({ status, name, response, text }) => [
          status,
          isShared.has(text) ? { $ref: `#/components/responses/${name}` } : response,
        ]),
      ),
  };
}

function answersAt(rules: RefusalRules, endpoint: Operation, schemas: SchemaComponents): Answer[] {
  const refused = codesOf(rules, endpoint).flatMap((code) =>
    formsOf(rules, endpoint, code).map((form) => ({ code, ...form })),
  );
  const places = Object.keys(rules.errors);
  return [...Map.groupBy(refused, ({ status }) => status)].map(([status, unordered]) => {
    // Sorted in the order of the table, so that two operations with the same codes have the same response.
    const group = unordered.toSorted((left, right) => places.indexOf(left.code) - places.indexOf(right.code));
    const codes = group.map(({ code }) => code);
    const content = group.map(({ mediaType, error }) => [
      mediaType,
      { schema: schemas.schemaOf(error, 'output') },
    ]);
    const response = {
      description: codes.map((code) => `\`${code}\`: ${rules.errors[code]?.when ?? ''}`).join('\n\n'),
      headers: namesAWait(status, codes) ? headersOf('Retry-After') : headersOf(),
      content: Object.fromEntries(content),
    };
    return { status, codes, name: nameOf(group), response, text: JSON.stringify(response) };
  });
}

function formsOf(rules: RefusalRules, endpoint: Operation, code: string): RefusalForm[] {
  const own = rules.refusalOf?.(endpoint, code);
  if (own !== undefined) return [own];
  const { status = 500, otherStatus } = rules.errors[code] ?? {};
  const hasBoth = otherStatus !== undefined && endpoint.errors.includes(code);
  const statuses = hasBoth ? [status, otherStatus] : [status];
  return statuses.map((one) => ({ status: one, error: rules.error, mediaType: 'application/json' }));
}

function namesAWait(status: number, codes: readonly string[]): boolean {
  return status === 429 || status === 503 || codes.includes('idempotency_in_flight');
}

/** `NotFound`; `ScimNotFound` for a response with a schema other than `Error`. */
function nameOf(group: readonly { code: string; error: z.ZodType }[]): string {
  const codes = group.map(({ code }) =>
    code.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
  );
  const form = String(group[0]?.error.meta()?.['id'] ?? '').replace(/Error$/, '');
  const name = codes.join('Or');
  return name.startsWith(form) ? name : `${form}${name}`;
}
