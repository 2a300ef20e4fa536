import { randomUUID } from 'node:crypto';
import type { Operation } from '../service.ts';
import { sql } from '../sql.ts';
import { doorEndpoints } from './door-endpoints.ts';
import { doorBodyBytesMax, doorCredential, doorTenant, otherTenant, startDoors } from './door-service.ts';
import { matrixTests } from './matrix.ts';
import type { MatrixCaller, MatrixService } from './matrix-bench.ts';

/** The matrix, on the small service of the kernel's tests. */
matrixTests({
  service: 'doors',
  basePath: '/api',
  endpoints: doorEndpoints,
  rulesOf: () => ({
    unauthenticated: { status: 401, code: 'invalid_credentials' },
    denied: { status: 403, code: 'permission_denied' },
    scopeless: { status: 403, code: 'permission_denied' },
    invalid: { status: 400, code: 'invalid_request' },
    unstorable: { status: 422, code: 'validation_error' },
    tooLarge: { status: 413, code: 'request_too_large' },
    wrongMethod: { status: 405, code: 'method_not_allowed' },
    keyRequired: { status: 422, code: 'idempotency_key_required' },
    keyTooLong: { status: 422, code: 'invalid_idempotency_key' },
    keyReused: { status: 409, code: 'idempotency_key_reused' },
    ifMatchRequired: { status: 428, code: 'if_match_required' },
    ifMatchInvalid: { status: 400, code: 'invalid_if_match' },
  }),
  codeOf: (body) => (body as { code?: string } | undefined)?.code,
  keyRequired: ({ idempotency }) => idempotency === 'required',
  bodyBytesMax: () => doorBodyBytesMax,
  sizeBeforeCredential: ({ method }) => method !== 'PATCH',
  start,
});

async function start(): Promise<MatrixService> {
  const doors = await startDoors();
  const foreign = randomUUID();
  await doors.pool.run(
    sql`insert into doors (id, tenant_id, label) values (${foreign}, ${otherTenant}, 'foreign')`,
  );
  return {
    url: doors.url,
    headersOf,
    async prepare({ params, example, ifMatch, idempotency }) {
      const id = 'id' in params ? (await doors.makeDoor()).id : '';
      return {
        params: { id },
        headers: {
          ...(ifMatch === undefined ? {} : { 'if-match': 'door-1' }),
          ...(idempotency === 'required' ? { 'idempotency-key': randomUUID() } : {}),
        },
        ...(example === undefined ? {} : { body: example }),
      };
    },
    foreign: async () => foreign,
    async state() {
      const rows = await doors.pool.rows(sql`select * from doors order by id`);
      return JSON.stringify(rows);
    },
    close: doors.close,
  };
}

function headersOf({ auth }: Operation, caller: MatrixCaller) {
  if (auth === 'none') return undefined;
  switch (caller) {
    case 'anonymous':
      return {};
    case 'second':
      return doorCredential(doorTenant, 'bob');
    case 'allowed':
      return doorCredential();
    default:
      return doorCredential(doorTenant, 'eve', '');
  }
}
