import { StartError } from '../start-error.ts';

export interface Answer {
  readonly status: number;
  /** The parsed body; an empty object when there is none. */
  readonly body: Record<string, unknown>;
  /** The machine-readable reason of a refusal, in whichever envelope it came. */
  readonly code: string;
}

/** One service over HTTP, as any client sees it. */
export interface JsonApi {
  send(
    method: string,
    path: string,
    options?: { body?: object; headers?: Record<string, string> },
  ): Promise<Answer>;
}

const timeoutMs = 30_000;

/** @param base address in front of every path; @param headers sent with every request. */
export function jsonApi(base: string, headers: Readonly<Record<string, string>>): JsonApi {
  return {
    async send(method, path, options = {}) {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers, ...options.headers },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      const body = parse(text);
      const { error, detail } = body as { error?: { code?: string }; detail?: unknown };
      return {
        status: response.status,
        body,
        code: error?.code ?? (typeof detail === 'string' ? detail : ''),
      };
    },
  };
}

/** The body of a good answer. @throws StartError naming the request that was refused, and never what it held. */
export function expected(answer: Answer, what: string): Record<string, unknown> {
  if (answer.status >= 200 && answer.status < 300) return answer.body;
  throw new StartError(
    `Setting up failed: ${what} was answered with ${answer.status} ${answer.code}; start again to go on from here.`,
  );
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
