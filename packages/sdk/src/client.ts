import type { CallOptions, Matched } from './call.ts';
import { type Operation, readTable } from './call-table.ts';
import { AccessToken, type Credential, type IssuedToken } from './credentials.ts';
import { BatonError } from './errors.ts';
import type { CoordinationApi } from './generated/coordination-api.ts';
import { coordinationOperations } from './generated/coordination-operations.ts';
import type { IdentityApi } from './generated/identity-api.ts';
import { identityOperations } from './generated/identity-operations.ts';
import { paginate } from './pages.ts';
import { type Call, type Caller, type Service, send } from './requests.ts';
import { fetchTransport, type Transport } from './transport.ts';
import { findWorkloadCredential, ownEnvironment, type WorkloadCredential } from './workload-identity.ts';

export interface ClientOptions {
  /** The address of Baton, for example `http://localhost:8080`, with identity below `/iam`. */
  readonly url?: string;
  /** The addresses of the two services, if they run separately. */
  readonly coordinationUrl?: string;
  readonly identityUrl?: string;
  /**
   * Without a credential, the token that the platform gives to this program is used (`findWorkloadCredential`). Without
   * that, only calls that don't need one are possible.
   */
  readonly credential?: Credential;
  /** For identity's administration. */
  readonly adminSecret?: string;
  /**
   * For identity's administration of the person's own tenant without the admin secret: returns an administration token,
   * as `accessToken`, and its remaining lifetime. Called again when the previous token has expired or was rejected.
   */
  readonly administrationToken?: () => Promise<IssuedToken>;
  /** The token of a directory that provisions through SCIM. */
  readonly provisioningToken?: string;
  /** The audience of the access tokens; `control-plane` by default. */
  readonly audience?: string;
  /** Timeout for all attempts of a call together, in milliseconds; 60,000 by default. */
  readonly deadlineMs?: number;
  /** Timeout for one attempt in milliseconds; 30,000 by default. */
  readonly attemptMs?: number;
  /** The maximum number of attempts of a call; 5 by default. */
  readonly attempts?: number;
  /** Sends the requests; fetch by default. */
  readonly transport?: Transport;
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The operations of coordination grouped by subject, and those of identity under `identity`. */
export interface Api extends CoordinationApi {
  readonly identity: IdentityApi;
  /** The access token of coordination, for connections outside of calls such as a socket. */
  readonly accessToken: AccessToken | undefined;
  /** The address of coordination. */
  readonly coordinationUrl: string;
  /**
   * Sends a request that this version has no operation for, with the client's credential, retries and errors.
   * @param path for example `/api/v1/tasks`; below `/iam`, identity's, with the admin secret. It may have a query, in
   * which `query` replaces the values of the same names
   * @example
   * const made = await baton.request('POST', '/api/v1/tasks', { body: { title: 'Fix it' } });
   * console.log(made);
   */
  request(method: string, path: string, options?: RequestOptions): Promise<unknown>;
}

/** Options of `request`. */
export interface RequestOptions extends CallOptions, Partial<Matched> {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, unknown>>;
}

/** RFC 7523. */
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const coordinationTable = readTable(coordinationOperations);
const identityTable = readTable(identityOperations);

/**
 * Creates a client of both services.
 * @throws TypeError for invalid addresses
 */
export function createApi(options: ClientOptions): Api {
  const { coordinationUrl, identityUrl } = addressesOf(options);
  const caller: Caller = {
    transport: options.transport ?? fetchTransport,
    deadlineMs: options.deadlineMs ?? 60_000,
    attempts: options.attempts ?? 5,
    attemptMs: options.attemptMs ?? 30_000,
    headers: options.headers ?? {},
  };
  const { adminSecret, administrationToken, provisioningToken, audience = 'control-plane' } = options;
  const credential = options.credential ?? findWorkloadCredential(ownEnvironment(), coordinationUrl);
  const identity: Service = {
    url: identityUrl,
    accessToken: undefined,
    adminSecret,
    administration: administrationToken && new AccessToken(administrationToken),
    provisioningToken,
  };
  const identityApi = groupsOf(identityTable, caller, identity) as unknown as IdentityApi;
  const exchange = credential && (() => exchanged(identityApi, credential, audience));
  const accessToken = exchange && new AccessToken(exchange);
  const coordination = {
    url: coordinationUrl,
    accessToken,
    adminSecret: undefined,
    administration: undefined,
    provisioningToken: undefined,
  };
  return Object.assign(groupsOf(coordinationTable, caller, coordination), {
    identity: identityApi,
    accessToken,
    coordinationUrl,
    request: (method: string, path: string, given: RequestOptions = {}) =>
      requestOf(caller, { coordination, identity }, method, path, given),
  }) as unknown as Api;
}

/** Calls an operation that the caller declares. */
async function requestOf(
  caller: Caller,
  services: { readonly coordination: Service; readonly identity: Service },
  method: string,
  path: string,
  { body, query, ...options }: RequestOptions,
): Promise<unknown> {
  // Without this check, `@example.com` appended to `http://localhost:8080` would be a different host, which would
  // receive the credential.
  if (!path.startsWith('/')) throw new TypeError('a path begins with a slash, as /api/v1/tasks');
  const isIdentity = path.startsWith('/iam/');
  const [ownPath, ownQuery] = splitQuery(isIdentity ? path.slice('/iam'.length) : path);
  const operation: Operation = {
    name: `${method} ${path}`,
    method,
    path: [ownPath],
    hasBody: body !== undefined,
    hasQuery: true,
    isKeyed: method !== 'GET' && method !== 'HEAD',
    isPaged: false,
    isRaw: false,
    bodyMedia: 'application/json',
    credential: isIdentity ? 'admin secret' : 'access token',
  };
  return send(caller, isIdentity ? services.identity : services.coordination, {
    operation,
    parameters: [],
    body,
    query: { ...ownQuery, ...query },
    options,
  });
}

/** Splits a path from its query and returns the query's values by name. A fragment isn't sent. */
function splitQuery(path: string): [path: string, query: Readonly<Record<string, readonly string[]>>] {
  const [sent = ''] = path.split('#', 1);
  const at = sent.indexOf('?');
  if (at === -1) return [sent, {}];
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(sent.slice(at + 1)))
    values.set(name, [...(values.get(name) ?? []), value]);
  return [sent.slice(0, at), Object.fromEntries(values)];
}

function addressesOf({
  url,
  coordinationUrl = url,
  identityUrl = url && `${trimmed(url)}/iam`,
}: ClientOptions) {
  if (coordinationUrl === undefined || identityUrl === undefined)
    throw new TypeError('a client needs the address of Baton: url, or coordinationUrl and identityUrl');
  return { coordinationUrl: trimmed(coordinationUrl), identityUrl: trimmed(identityUrl) };
}

function trimmed(url: string): string {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new TypeError(`${url} is not an HTTP or HTTPS URL`);
  return url.replace(/\/+$/, '');
}

async function exchanged(
  identity: IdentityApi,
  credential: Credential,
  audience: string,
): Promise<IssuedToken> {
  if ('accessToken' in credential) return credential.accessToken();
  if ('token' in credential) {
    const token = typeof credential.token === 'string' ? credential.token : await credential.token();
    return identity.platformAccessTokens.exchange({ token, audience });
  }
  if ('assertion' in credential) return exchangedAssertion(identity, credential, audience);
  const { clientId, clientSecret } = credential;
  return identity.tokens.exchange({ clientId, clientSecret, audience });
}

async function exchangedAssertion(
  identity: IdentityApi,
  credential: WorkloadCredential,
  audience: string,
): Promise<IssuedToken> {
  const { tenantId } = credential;
  const form = {
    grant_type: assertionGrant,
    assertion: await credential.assertion(),
    audience,
    ...(tenantId !== undefined && { tenant_id: tenantId }),
  };
  const issued = await identity.oauth2.grant(form).catch((error: unknown) => {
    // RFC 6749's name for the error, under which identity sends its own code.
    if (!(error instanceof BatonError) || String(error.code) !== 'invalid_grant') throw error;
    const { status, requestId } = error;
    const message = 'no workload rule accepts the token of this program';
    throw new BatonError({ code: 'invalid_assertion', message, status, requestId, cause: error });
  });
  return { accessToken: issued.access_token, expiresIn: issued.expires_in };
}

type Groups = Record<string, Record<string, (...args: never[]) => unknown>>;

function groupsOf(table: ReturnType<typeof readTable>, caller: Caller, service: Service): Groups {
  const groups: Groups = {};
  for (const [group, operations] of table) {
    const methods: Groups[string] = {};
    for (const [name, operation] of operations) methods[name] = methodOf(caller, service, operation);
    groups[group] = methods;
  }
  return groups;
}

/**
 * Creates the method of an operation. Its arguments are the path's parameters, then the body or otherwise the query,
 * then the options.
 */
function methodOf(caller: Caller, service: Service, operation: Operation) {
  const inPath = operation.path.length - 1;
  return (...args: readonly unknown[]): Promise<unknown> => {
    const takesInput = operation.hasBody || operation.hasQuery;
    const input = takesInput ? args[inPath] : undefined;
    const options = args[inPath + (takesInput ? 1 : 0)] as (CallOptions & { query?: object }) | undefined;
    const call: Call = {
      operation,
      parameters: args.slice(0, inPath) as string[],
      body: operation.hasBody ? input : undefined,
      query: (operation.hasBody ? options?.query : input) as Call['query'],
      options,
    };
    if (operation.isPaged) return paginate(call, (page) => send(caller, service, page));
    return send(caller, service, call);
  };
}
