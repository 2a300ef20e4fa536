import { z } from 'zod';
import { newId } from '@baton/values/ids';
import { FreeObject, QueryFlag, Timestamp, Uuid } from '@baton/values/wire';
import type { Db } from '../../database/db.ts';
import { sql } from '../../database/sql.ts';
import { errorRow } from '../../http/error-rows.ts';
import { cutPage, decodeCursor } from '../../http/paging.ts';
import { type ErrorTable, Refusal } from '../../http/refusal.ts';
import { defineEvent, type Endpoint, endpointsOf, type Surroundings } from '../../http/service.ts';

/** The behaviour that a test injects into a handler. */
export interface DoorHooks {
  /** Runs in every `:open`, before it writes. */
  beforeOpen(context: DoorContext): Promise<void>;
  /** The outgoing request that each `:secure` sends before its command. */
  secure?(code: string): Promise<void>;
}

export interface DoorCaller {
  readonly tenantId: string;
  readonly principalId: string;
  readonly permissions: ReadonlySet<string>;
}

export interface DoorContext {
  readonly db: Db;
  readonly caller: DoorCaller;
  readonly hooks: DoorHooks;
  /** Event types, in the order in which they are written. */
  readonly emitted: string[];
}

const row = (status: number, when: string) => errorRow(status, when, 'Try another door.');

export const doorErrors = {
  invalid_request: row(400, 'The form is wrong.'),
  invalid_if_match: row(400, 'If-Match names no version.'),
  invalid_credentials: row(401, 'The credential is not known.'),
  permission_denied: row(403, 'The permission is missing.'),
  not_found: row(404, 'There is no such thing.'),
  method_not_allowed: row(405, 'Another method.'),
  version_conflict: row(409, 'Changed meanwhile.'),
  door_locked: row(409, 'The door is locked.'),
  idempotency_key_reused: row(409, 'The key belongs to another request.'),
  idempotency_in_flight: row(409, 'The first is still running.'),
  request_too_large: row(413, 'The body is too large.'),
  validation_error: row(422, 'The text cannot be stored.'),
  idempotency_key_required: row(422, 'The key is missing.'),
  invalid_idempotency_key: row(422, 'The key is too long.'),
  invalid_limit: row(422, 'The page is too long.'),
  invalid_cursor: row(422, 'The cursor is of another list.'),
  if_match_required: row(428, 'If-Match is missing.'),
  internal_error: row(500, 'A failure of ours.'),
  unavailable: row(503, 'Not now.'),
} as const satisfies ErrorTable;

const endpoint = endpointsOf<{
  code: keyof typeof doorErrors;
  permission: 'doors.read' | 'doors.write';
  auth: 'none';
  context: DoorContext;
}>();

interface DoorRow {
  id: string;
  label: string;
  opened: number;
  settings: Record<string, never>;
  version: number;
  created_at: string;
}

const Door = z.strictObject({
  id: Uuid,
  label: z.string(),
  opened: z.int(),
  settings: FreeObject,
  version: z.int(),
  createdAt: Timestamp,
});

const doorOf = ({ created_at: createdAt, ...row }: DoorRow) => ({ ...row, createdAt });
const columns = 'id, label, opened, settings, version, created_at';
const params = { id: Uuid };
const doorOpened = defineEvent('door.opened', 'door', z.strictObject({ opened: z.int() }));

async function lockDoor({ db, caller }: DoorContext, id: string): Promise<DoorRow> {
  const text = `select ${columns} from doors where tenant_id = $1 and id = $2 for update`;
  const door = await db.row<DoorRow>({ text, values: [caller.tenantId, id] });
  if (door === undefined) throw new Refusal('not_found');
  return door;
}

const listDoors = endpoint({
  id: 'listDoors',
  method: 'GET',
  path: '/doors',
  summary: 'List doors.',
  permission: 'doors.read',
  query: { label: z.string().max(50).optional(), wide: QueryFlag.optional() },
  paging: true,
  returns: { 200: z.strictObject({ items: z.array(Door), nextCursor: z.string().nullable() }) },
  errors: ['invalid_cursor'],
  async handle({ query, page }, { db, caller }) {
    const [at, id] =
      page.cursor === undefined ? [null, null] : decodeCursor('doors', page.cursor, ['timestamp', 'uuid']);
    const rows = await db.rows<DoorRow>(sql`
      select id, label, opened, settings, version, created_at from doors
      where tenant_id = ${caller.tenantId} and (${query.label ?? null}::text is null or label = ${query.label ?? null})
        and (${at}::timestamptz is null or (created_at, id) < (${at}, ${id}))
      order by created_at desc, id desc limit ${page.limit + 1}`);
    const cut = cutPage(rows, page, 'doors', (row) => [row.created_at, row.id]);
    return { items: cut.rows.map(doorOf), nextCursor: cut.nextCursor };
  },
});

const createDoor = endpoint({
  id: 'createDoor',
  method: 'POST',
  path: '/doors',
  summary: 'Make a door.',
  permission: 'doors.write',
  body: z.strictObject({
    label: z.string().min(1).max(200),
    count: z.int().optional(),
    settings: FreeObject.optional(),
  }),
  returns: { 201: z.strictObject({ door: Door, lock: z.strictObject({ key: z.string().nullable() }) }) },
  secrets: ['lock.key'],
  example: { label: 'front' },
  async handle({ body }, { db, caller }) {
    const door = await db.row<DoorRow>(sql`
      insert into doors (id, tenant_id, label, settings)
      values (${newId()}, ${caller.tenantId}, ${body.label}, ${JSON.stringify(body.settings ?? {})})
      returning id, label, opened, settings, version, created_at`);
    return { door: doorOf(door as DoorRow), lock: { key: newId() } };
  },
});

const getDoor = endpoint({
  id: 'getDoor',
  method: 'GET',
  path: '/doors/{id}',
  summary: 'Read a door.',
  permission: ['doors.read', 'doors.write'],
  params,
  returns: { 200: Door },
  errors: ['not_found'],
  etag: 'door',
  async handle({ params: { id } }, { db, caller }) {
    const text = `select ${columns} from doors where tenant_id = $1 and id = $2`;
    const door = await db.row<DoorRow>({ text, values: [caller.tenantId, id] });
    if (door === undefined) throw new Refusal('not_found');
    return doorOf(door);
  },
});

const updateDoor = endpoint({
  id: 'updateDoor',
  method: 'PATCH',
  path: '/doors/{id}',
  summary: 'Name a door.',
  permission: 'doors.write',
  params,
  body: z.strictObject({ label: z.string().min(1) }),
  ifMatch: 'door',
  etag: 'door',
  returns: { 200: Door },
  errors: ['not_found', 'version_conflict'],
  example: { label: 'back' },
  async handle({ params: { id }, body, ifMatch }, context) {
    const { version } = await lockDoor(context, id);
    if (version !== ifMatch) throw new Refusal('version_conflict', { currentVersion: version });
    const text = `update doors set label = $2, version = version + 1 where id = $1 returning ${columns}`;
    return doorOf((await context.db.row<DoorRow>({ text, values: [id, body.label] })) as DoorRow);
  },
});

const openDoor = endpoint({
  id: 'openDoor',
  method: 'POST',
  path: '/doors/{id}:open',
  summary: 'Open a door.',
  permission: 'doors.write',
  params,
  body: z.strictObject({ by: z.string().optional() }),
  bodyOptional: true,
  returns: { 200: Door },
  errors: ['not_found', 'door_locked'],
  emits: [doorOpened],
  example: { by: 'Ada' },
  async handle({ params: { id } }, context) {
    await lockDoor(context, id);
    await context.hooks.beforeOpen(context);
    const text = `update doors set opened = opened + 1 where id = $1 returning ${columns}`;
    const door = (await context.db.row<DoorRow>({ text, values: [id] })) as DoorRow;
    context.emitted.push(doorOpened.type);
    return doorOf(door);
  },
});

const secureDoor = endpoint({
  id: 'secureDoor',
  method: 'POST',
  path: '/doors/{id}:secure',
  summary: 'Give a door a code, which a store outside keeps.',
  permission: 'doors.write',
  params,
  body: z.strictObject({ code: z.string(), by: z.string().optional() }),
  unprinted: ['code'],
  returns: { 200: Door },
  errors: ['not_found'],
  example: { code: '1234' },
  async around({ body }, { context, command }: Surroundings<undefined, DoorContext>) {
    await context.hooks.secure?.(body.code);
    return command(undefined);
  },
  handle: async ({ params: { id } }, context) => doorOf(await lockDoor(context, id)),
});

const kickDoor = endpoint({
  id: 'kickDoor',
  method: 'POST',
  path: '/doors/{id}:kick',
  summary: 'Kick a door: it counts and is refused.',
  permission: 'doors.write',
  params,
  idempotency: 'required',
  returns: { 204: null },
  errors: ['not_found', 'door_locked'],
  async handle({ params: { id } }, context) {
    const { label } = await lockDoor(context, id);
    await context.db.run(sql`update doors set opened = opened + 1 where id = ${id}`);
    if (label === 'locked') throw new Refusal('door_locked', {}, { commits: true });
    return undefined;
  },
});

const deleteDoor = endpoint({
  id: 'deleteDoor',
  method: 'DELETE',
  path: '/doors/{id}',
  summary: 'Remove a door.',
  permission: 'doors.write',
  params,
  returns: { 204: null },
  errors: ['not_found'],
  async handle({ params: { id } }, context) {
    await lockDoor(context, id);
    await context.db.run(sql`delete from doors where id = ${id}`);
    return undefined;
  },
});

const getStatus = endpoint({
  id: 'getStatus',
  method: 'GET',
  path: '/status',
  root: true,
  summary: 'Whether it runs.',
  auth: 'none',
  returns: { 200: z.strictObject({ ok: z.boolean() }) },
  handle: () => ({ ok: true }),
});

/** The operations of the example service that the kernel's own tests run against. */
export const doorEndpoints: readonly Endpoint<DoorContext>[] = [
  listDoors,
  createDoor,
  getDoor,
  updateDoor,
  openDoor,
  secureDoor,
  kickDoor,
  deleteDoor,
  getStatus,
];
