/** An error response of one of the services, with its stable code. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Reads both error envelopes: coordination's `{error: {code, message, details}}` and identity's `{detail}`, which is a
 * code or a list of problems with the body.
 */
export function apiErrorOf(status: number, body: unknown, retryAfter: string | undefined): ApiError {
  const { error, detail } = (body ?? {}) as {
    error?: { code?: unknown; message?: unknown; details?: unknown };
    detail?: unknown;
  };
  const retryAfterSeconds = retryAfter === undefined ? undefined : Number(retryAfter) || 1;
  if (typeof error?.code === 'string')
    return new ApiError(
      status,
      error.code,
      `${String(error.message)}${problemsOf(error.details)}`,
      retryAfterSeconds,
    );
  if (typeof detail === 'string')
    return new ApiError(status, detail, `identity answered ${status}`, retryAfterSeconds);
  if (Array.isArray(detail)) {
    const problems = detail as { loc?: unknown[]; msg?: string }[];
    const text = problems.map(({ loc, msg }) => `${loc?.join('.') ?? ''} ${msg ?? ''}`.trim()).join('; ');
    return new ApiError(status, 'invalid_request', text, retryAfterSeconds);
  }
  return new ApiError(status, `http_${status}`, 'the response is not from Baton', retryAfterSeconds);
}

function problemsOf(details: unknown): string {
  const { errors } = (details ?? {}) as { errors?: unknown };
  if (!Array.isArray(errors)) return '';
  const problems = errors as { loc?: string; path?: string; message?: string; code?: string }[];
  return `: ${problems.map(({ loc, path, message, code }) => `${loc ?? path ?? ''} ${message ?? code ?? ''}`.trim()).join('; ')}`;
}
