import { randomUUID } from 'node:crypto';
import { sql } from '../../database/sql.ts';
import type { Operation } from '../../http/service.ts';
import { doorEndpoints } from '../door/door-endpoints.ts';
import {
  type DoorService,
  doorBodyBytesMax,
  doorCredential,
  doorMigrations,
  doorTenant,
  otherTenant,
  startDoors,
} from '../door/door-service.ts';
import { matrixTests } from './matrix.ts';
import { fixturesOf, joinFixtures } from './matrix-fixtures.ts';
import type { MatrixCaller, MatrixService } from './matrix-service.ts';

/** Runs the matrix on the small example service of the kernel's tests. */
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
  fixtures: doorFixtures(),
  migrationsDirectory: doorMigrations,
  ignoredChanges: ['idempotency_keys'],
  identifiers: {},
  start,
});

interface DoorFixtureTenant {
  readonly doors: DoorService;
  readonly tenantId: string;
}

function doorFixtures() {
  const { defineObject, defineFixtures } = fixturesOf<DoorFixtureTenant>();
  const door = defineObject({
    path: '/doors/{id}',
    async make({ doors, tenantId }) {
      const id = randomUUID();
      await doors.pool.run(
        sql`insert into doors (id, tenant_id, label) values (${id}, ${tenantId}, 'front')`,
      );
      return { id };
    },
  });
  return joinFixtures([defineFixtures({ objects: [door] })], () => 'door.fixtures.ts');
}

async function start(): Promise<MatrixService<DoorFixtureTenant>> {
  const doors = await startDoors();
  return {
    url: doors.url,
    databaseUrl: doors.databaseUrl,
    tenant: { doors, tenantId: doorTenant },
    otherTenant: { doors, tenantId: otherTenant },
    headersOf,
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
