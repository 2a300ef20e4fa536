/** The declaration of one operation. */
export interface Operation {
  /** For example `tasks.claim`. */
  readonly name: string;
  readonly method: string;
  /** The path, split at its parameters: one more string than parameters. */
  readonly path: readonly string[];
  readonly hasBody: boolean;
  readonly hasQuery: boolean;
  /** Whether the service executes the call once per idempotency key. */
  readonly isKeyed: boolean;
  readonly isPaged: boolean;
  /** Whether the response is returned as raw bytes. */
  readonly isRaw: boolean;
  readonly bodyMedia:
    | 'application/json'
    | 'application/scim+json'
    | 'application/x-www-form-urlencoded'
    | 'raw';
  readonly credential: 'none' | 'access token' | 'admin secret' | 'provisioning token';
}

/**
 * The operations of a table, by group and name. The flags of a row: b has a body, f the body is a form, s it is SCIM's
 * JSON, r it is raw bytes, q has a query, k takes an idempotency key, p returns a page, R returns raw bytes, t is sent
 * with an access token, a with the admin secret, v with a provisioning token.
 */
export function readTable(table: string): Map<string, Map<string, Operation>> {
  const groups = new Map<string, Map<string, Operation>>();
  for (const row of table.trim().split('\n')) {
    const [name = '', method = '', path = '', flags = ''] = row.split(' ');
    const [group = '', short = ''] = name.split('.');
    const operations = groups.get(group) ?? new Map<string, Operation>();
    groups.set(group, operations.set(short, operationOf(name, method, path, flags)));
  }
  return groups;
}

function operationOf(name: string, method: string, path: string, flags: string): Operation {
  const has = (flag: string) => flags.includes(flag);
  const credential = has('t')
    ? 'access token'
    : has('a')
      ? 'admin secret'
      : has('v')
        ? 'provisioning token'
        : 'none';
  return {
    name,
    method,
    path: path.split(/\{\w+\}/),
    hasBody: has('b'),
    hasQuery: has('q'),
    isKeyed: has('k'),
    isPaged: has('p'),
    isRaw: has('R'),
    bodyMedia: has('r')
      ? 'raw'
      : has('s')
        ? 'application/scim+json'
        : has('f')
          ? 'application/x-www-form-urlencoded'
          : 'application/json',
    credential,
  };
}
