import { StartError } from '../start-error.ts';

export interface JsonResponse {
  readonly status: number;
  /** The parsed body; an empty object when there is none. */
  readonly body: Record<string, unknown>;
  /** The error code in either service's error envelope; empty if there is none. */
  readonly code: string;
}

/** An HTTP client of one service. */
export interface JsonApi {
  send(
    method: string,
    path: string,
    options?: { body?: object; headers?: Record<string, string> },
  ): Promise<JsonResponse>;
}

const timeoutMs = 30_000;

/** @param base the address that precedes every path; @param headers sent with every request */
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

/** The body of a 2xx response. @throws StartError with the step and the error code, but never the request */
export function expectSuccess(response: JsonResponse, step: string): Record<string, unknown> {
  if (response.status >= 200 && response.status < 300) return response.body;
  throw new StartError(
    `Setup failed: ${step} returned ${response.status} ${response.code}. Start again to continue.`,
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
