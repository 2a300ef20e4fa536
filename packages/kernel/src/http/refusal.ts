export type Details = Readonly<Record<string, unknown>>;

export interface ErrorRow {
  readonly status: number;
  /** A second status, for an endpoint that uses the code for a different reason; the refusal specifies it. */
  readonly otherStatus?: number;
  /** When the code is returned; also the error's message. */
  readonly when: string;
  /** What to do about it. */
  readonly react: string;
  /** Present if the code is about a malformed request. */
  readonly example?: ErrorExample;
}

/**
 * A refused request and the corrected one, for the page of error codes: `POST /tasks {"title":" "}`. Paths are those of
 * the API description without `/api/v1`; a test compares them with the declared endpoints.
 */
export interface ErrorExample {
  readonly refused: string;
  readonly right: string;
}

export type ErrorTable = Readonly<Record<string, ErrorRow>>;

export interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The reason for the service's log and the audit log; never sent. */
  readonly reason?: string;
  /**
   * The writes made so far are committed although the request is refused, because the refusal itself must be recorded.
   */
  readonly commits?: boolean;
  /** Overrides the status in the table of errors. */
  readonly status?: number;
  readonly cause?: unknown;
}

/** The only way to refuse a request: a code from the service's table of errors. See `RefusalOptions`. */
export class Refusal extends Error {
  readonly code: string;
  readonly details: Details;
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: string | undefined;
  readonly commits: boolean;
  /** Overrides the status in the table of errors. */
  readonly status: number | undefined;

  constructor(code: string, details: Details = {}, options: RefusalOptions = {}) {
    super(code, { cause: options.cause });
    this.name = 'Refusal';
    this.code = code;
    this.details = details;
    this.headers = options.headers ?? {};
    this.reason = options.reason;
    this.commits = options.commits ?? false;
    this.status = options.status;
  }
}

/** Refuses a request; `Code` limits the codes to those that its caller may use. */
export type Fail<Code extends string> = (code: Code, details?: Details, options?: RefusalOptions) => never;

export const refuse: Fail<string> = (code, details, options) => {
  throw new Refusal(code, details, options);
};

/** One validation problem of a request. Messages never repeat the input. */
export interface Problem {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly path: readonly (string | number)[];
  readonly type: string;
  readonly message: string;
}

/** The request doesn't match the declared schema. Each service has its own envelope for this error. */
export class InvalidRequest extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super('invalid request');
    this.name = 'InvalidRequest';
    this.problems = problems;
  }
}

/** The connection ended before the body did. */
export class ClientGone extends Error {}

/** A string with a NUL character or a lone surrogate, which PostgreSQL can't store. */
export class UnstorableText extends Error {
  readonly path: string;
  readonly code: 'nul_character' | 'lone_surrogate';

  constructor(path: string, code: 'nul_character' | 'lone_surrogate') {
    super(code);
    this.name = 'UnstorableText';
    this.path = path;
    this.code = code;
  }
}

/** An error as a response. */
export interface RenderedError {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Converts an error to its wire format. It shows no details of a failure that isn't a refusal. */
export type RenderError = (error: unknown, requestId: string) => RenderedError;

/** An error format required by a standard, for the endpoints and unknown paths below one path. */
export interface ErrorEnvelope {
  /** The path from the root, without a trailing slash: `/scim`. */
  readonly basePath: string;
  readonly render: RenderError;
}

/** The envelope that applies to a path; undefined if its errors have the service's usual envelope. */
export function envelopeAt<Envelope extends ErrorEnvelope>(
  envelopes: readonly Envelope[],
  path: string,
): Envelope | undefined {
  return envelopes.find(({ basePath }) => path.startsWith(`${basePath}/`));
}
