const answerMsMax = 15_000;

export interface ApiAnswer {
  status: number;
  // The caller reads the fields that it expects.
  // biome-ignore lint/suspicious/noExplicitAny: responses of many forms
  body: any;
}

export interface ApiCaller {
  /** The addresses of the API processes; each call may be sent to any of them. */
  readonly urls: readonly string[];
  readonly token: string;
}

export function pickAny<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}

/** Sends one request. @returns undefined without a response: the connection ended, or it timed out */
export async function send(
  { urls, token }: ApiCaller,
  method: string,
  path: string,
  init: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<ApiAnswer | undefined> {
  try {
    const response = await fetch(`${pickAny(urls)}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
      signal: AbortSignal.timeout(answerMsMax),
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/**
 * Whether to retry: there was no response, or it reports that the service or its database is temporarily unavailable.
 */
export function isTransientFailure(answer: ApiAnswer | undefined): answer is undefined {
  return answer === undefined || answer.status === 503 || answer.status === 429;
}
