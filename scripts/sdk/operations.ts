import { nameIn, type Schema, writeComment, writeKey, writeType } from './schema-types.ts';

/** The part of an OpenAPI document that the generator reads. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, ApiParameter>>;
    readonly responses?: Readonly<Record<string, ApiResponse>>;
  };
}

export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (ApiParameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse | { readonly $ref: string }>>;
  readonly 'x-errors'?: readonly string[];
  readonly 'x-permission'?: readonly string[];
}

interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface ApiResponse {
  readonly content?: Content;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

/** One operation as a method of the client. */
export interface Method {
  readonly group: string;
  readonly name: string;
  /** The line of the runtime's table: `tasks.claim POST /api/v1/tasks/{ref}:claim bk`. */
  readonly row: string;
  /** The method as a member of its group's interface, with its comment. */
  readonly declaration: string;
}

/** Media types of bodies that are sent and returned unchanged, without JSON. */
const rawMedia = '*/*';

/** Every operation of a document that a client calls: group and name follow from path and operationId. */
export function buildMethods(document: ApiDocument): Method[] {
  const methods = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, operation]) => methodOf(document, path, verb, operation)),
  );
  const names = methods.map(({ group, name }) => `${group}.${name}`);
  const twice = names.filter((name, place) => names.indexOf(name) !== place);
  if (twice.length > 0) throw new Error(`two operations would be the same method: ${twice.join(', ')}`);
  return methods;
}

function methodOf(document: ApiDocument, path: string, verb: string, operation: ApiOperation): Method {
  const parameters = (operation.parameters ?? []).map((one) => parameterOf(document, one));
  const group = groupOf(path);
  const name = nameOf(operation.operationId, group);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  const query = parameters.filter((one) => one.in === 'query');
  const headers = parameters.filter((one) => one.in === 'header').map((one) => one.name);
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  const [media, { schema: bodySchema = {} } = {}] = bodies[0] ?? [];
  const answer = answerOf(document, operation);
  const flags = [
    media === undefined ? '' : 'b',
    media === rawMedia ? 'r' : '',
    media === 'application/scim+json' ? 's' : '',
    media === 'application/x-www-form-urlencoded' ? 'f' : '',
    query.length > 0 ? 'q' : '',
    headers.includes('Idempotency-Key') ? 'k' : '',
    answer.media === rawMedia ? 'R' : '',
    credentialFlag(operation),
  ].join('');
  const queryType = query.length === 0 ? undefined : membersOf(query);
  const hasRequiredQuery = query.some(({ required }) => required);
  const takesQuery = queryType !== undefined && media === undefined;
  const options = optionsOf(
    parameters.find(({ name }) => name === 'If-Match'),
    media === undefined ? undefined : queryType,
  );
  const isMatched = options.includes(' Matched');
  const isOptionalBody = !isMatched && bodySchema.$ref !== undefined && isOptional(document, bodySchema);
  const args = [
    ...inPath.map((parameter) => `${parameter}: string`),
    ...(media === undefined ? [] : [`body${isOptionalBody ? '?' : ''}: ${bodyType(media, bodySchema)}`]),
    ...(takesQuery ? [`query${hasRequiredQuery ? '' : '?'}: ${queryType}`] : []),
    `options${isMatched ? '' : '?'}: ${options}`,
  ];
  const returned =
    answer.item === undefined ? `Promise<${answer.type}>` : `Paged<${answer.type}, ${answer.item}>`;
  const pageFlag = answer.item === undefined ? '' : 'p';
  return {
    group,
    name,
    row: `${group}.${name} ${verb.toUpperCase()} ${path} ${flags}${pageFlag}`.trimEnd(),
    declaration: `${writeComment(textOf(operation, verb, path))}${name}(${args.join(', ')}): ${returned};`,
  };
}

function parameterOf(document: ApiDocument, one: ApiParameter | { readonly $ref: string }): ApiParameter {
  if (!('$ref' in one)) return one;
  const found = document.components.parameters?.[nameIn(one.$ref)];
  if (found === undefined) throw new Error(`no parameter ${one.$ref}`);
  return found;
}

/**
 * `/api/v1/task-types/{id}:deprecate` belongs to the group `taskTypes`.
 */
function groupOf(path: string): string {
  const [first = ''] = path
    .replace(/^\/(api\/v\d+|scim\/v\d+)\//, '/')
    .replace(/^\/(?:tenants\/\{tenantId\}\/)?/, '')
    .split(/[/:{]/);
  if (path.startsWith('/scim/')) return 'scim';
  return camel(first.replace(/^\.well-known$/, 'keys'));
}

function camel(text: string): string {
  return text.replaceAll(/[-_.]+(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Names of operations for which the rule below would produce a long or unclear name. */
const namesOf: Readonly<Record<string, string>> = {
  claimNextTasks: 'claimNext',
  reclaimTask: 'reclaim',
  skipProcessElement: 'skip',
  migrateTasksOfType: 'migrateTasks',
  revokeChildHandleOfRun: 'revokeChildHandle',
  computeWithCalendar: 'compute',
  getJsonWebKeySet: 'list',
  exchangeClientCredentials: 'exchange',
  grantOauthToken: 'grant',
  introspectOauthToken: 'introspect',
  revokeOauthToken: 'revoke',
  getRevocations: 'listRevocations',
  getAuthorizationServerMetadata: 'getServerMetadata',
  authenticateFederatedUser: 'authenticate',
  exchangeFederatedToken: 'exchange',
  createPlatformAccessToken: 'createToken',
  createProvisioningToken: 'createToken',
  listProvisioningTokens: 'listTokens',
  revokeProvisioningToken: 'revokeToken',
  checkActions: 'check',
  getPerson: 'get',
  getWaitStatistics: 'getWaits',
  getLeaseStatistics: 'getLeases',
};

/** The operationId without its group's noun: `createTaskType` in `taskTypes` is `create`. */
function nameOf(operationId: string, group: string): string {
  const chosen = namesOf[operationId];
  if (chosen !== undefined) return chosen;
  const plural = group.charAt(0).toUpperCase() + group.slice(1);
  const singular = plural.replace(/ies$/, 'y').replace(/(?<=[^s])s$/, '');
  for (const noun of [plural, singular]) {
    const short = operationId.replace(new RegExp(`${noun}(?![a-z])`), '');
    if (short !== operationId && short !== '') return short;
  }
  return operationId;
}

function isOptional(document: ApiDocument, { $ref = '' }: Schema): boolean {
  const { required = [], anyOf } = document.components.schemas[nameIn($ref)] ?? {};
  return required.length === 0 && anyOf === undefined;
}

function bodyType(media: string, schema: Schema): string {
  return media === rawMedia ? 'RawBody' : writeType(schema);
}

function membersOf(parameters: readonly ApiParameter[]): string {
  const members = parameters.map(
    ({ name, required, description, schema }) =>
      `${writeComment(description)}${writeKey(name)}${required ? '' : '?'}: ${writeType(schema)};`,
  );
  return `{\n${members.join('\n')}\n}`;
}

function optionsOf(ifMatch: ApiParameter | undefined, query: string | undefined): string {
  const parts = ['CallOptions'];
  if (ifMatch !== undefined) parts.push(ifMatch.required ? 'Matched' : 'Partial<Matched>');
  if (query !== undefined) parts.push(`{ query?: ${query} }`);
  return parts.join(' & ');
}

interface Answer {
  readonly type: string;
  /** The type of one item, if the response is a page. */
  readonly item?: string;
  readonly media?: string;
}

function answerOf(document: ApiDocument, operation: ApiOperation): Answer {
  const good = Object.entries(operation.responses)
    .filter(([status]) => status < '300')
    .map(([, one]) => ('$ref' in one ? (document.components.responses?.[nameIn(one.$ref)] ?? {}) : one))
    .flatMap((response) => Object.entries(response.content ?? {}));
  const [media] = good[0] ?? [];
  if (media === undefined) return { type: 'undefined' };
  if (media === rawMedia) return { type: 'RawAnswer', media };
  const types = [
    ...new Set(good.map(([, { schema = {} }]) => (media === 'text/plain' ? 'string' : writeType(schema)))),
  ];
  const page =
    good.length === 1 ? document.components.schemas[nameIn(good[0]?.[1].schema?.$ref ?? '')] : undefined;
  const items = page?.properties?.items?.items;
  const isPage = items !== undefined && page?.properties?.nextCursor !== undefined;
  return { type: types.join(' | '), media, ...(isPage && { item: writeType(items) }) };
}

/**
 * The flag of the credential that the runtime sends: an access token (t), the admin secret (a), a provisioning token
 * (v); empty for none.
 */
function credentialFlag({ security }: ApiOperation): string {
  const [scheme] = security.flatMap((one) => Object.keys(one));
  const flags: Readonly<Record<string, string>> = {
    accessToken: 't',
    adminToken: 'a',
    provisioningToken: 'v',
  };
  return scheme === undefined ? '' : (flags[scheme] ?? '');
}

function textOf(
  { summary, description, 'x-permission': permission = [] }: ApiOperation,
  verb: string,
  path: string,
): string {
  const needs = permission.length === 0 ? '' : ` Needs ${permission.join(' or ')}.`;
  return `${summary}${description === undefined ? '' : ` ${description}`}${needs} \`${verb.toUpperCase()} ${path}\``;
}
