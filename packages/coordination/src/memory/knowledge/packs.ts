import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Answer, reply, type Surroundings } from '@baton/kernel/http/service';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { tenantNamespace } from '../gateway/namespaces.ts';
import { requireMemory, requireResponse } from '../gateway/require-response.ts';
import { mayReadAll, refuseMemory } from '../gateway/visible-namespaces.ts';
import { findWrittenEvent } from './intents.sql.ts';
import { packRegistered } from './knowledge.events.ts';
import { requireFit } from './serialize-request.ts';
import { type AnsweredWrite, type KnowledgeKind, writeKnowledge } from './write-knowledge.ts';

export const packBytesMax = documentBytesMax;
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const versionForm = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,49}$/;
const path = '/api/memory/packages';

/** `name`, or `name@version`. */
export function isPackRef(ref: string, options: { versioned: boolean }): boolean {
  const [name = '', version, ...rest] = ref.split('@');
  if (rest.length > 0 || !nameForm.test(name)) return false;
  return version === undefined ? !options.versioned : versionForm.test(version);
}

const Registered = z.looseObject({ status: z.string().min(1).max(64).catch('active') });

/** A pack of kinds and rules for knowledge. See docs/reference/memory.md#knowledge. */
export const RegisteredPack = z
  .strictObject({
    name: z.string(),
    version: z.string(),
    status: z.string(),
    scope: z.enum(['tenant', 'global']),
  })
  .meta({ id: 'RegisteredPack' });
type RegisteredPack = z.infer<typeof RegisteredPack>;
type PackFacts = Pick<RegisteredPack, 'name' | 'version' | 'scope'>;

export type PackWriting = Surroundings<AnsweredWrite<{ status: string }, PackFacts>, Context>;

export const packKind: KnowledgeKind<{ status: string }, PackFacts, RegisteredPack> = {
  kind: 'pack',
  method: 'POST',
  timeoutSeconds: (settings) => settings.CP_CONTEXT_INGEST_TIMEOUT_SECONDS,
  refusals: { 400: 'pack_invalid', 409: 'pack_version_conflict' },
  read(json) {
    const registered = Registered.safeParse(json);
    return registered.success ? { status: registered.data.status } : undefined;
  },
  async record(context, { name, version, scope }, { status, value }) {
    const { db, tenantId } = context;
    const entityId = packIdOf(scope === 'tenant' ? tenantId : '', name, version);
    // 200: the pack already existed. Nothing changed, unless the response to its first registration was lost.
    const result = await db.row(findWrittenEvent(tenantId, entityId, packRegistered.type, { name, version }));
    if (status !== 201 && result?.written === true) return;
    emit(context, packRegistered, { entityId }, { name, version, status: value.status, scope });
  },
  replyOf(_context, { name, version, scope }, { status, value }) {
    return Promise.resolve(reply(status === 201 ? 201 : 200, { name, version, status: value.status, scope }));
  },
};

/** A pack is identified only by its name, so the same name always maps to the same stream. */
function packIdOf(owner: string, name: string, version: string): string {
  const hex = createHash('sha256').update(`knowledge_pack\n${owner}\n${name}@${version}`).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}

/**
 * Registers a pack. A pack for the tenant requires knowledge.packs.manage; one for all tenants can be registered only
 * by principals in CP_KNOWLEDGE_PACK_ADMINS.
 * @throws Refusal `permission_denied`, `memory_disabled`, `pack_invalid`, `pack_version_conflict`,
 * `memory_unavailable`, those of `writeKnowledge`
 */
export async function registerPack(document: JsonObject, surroundings: PackWriting): Promise<Answer> {
  const { context } = surroundings;
  const { settings, tenantId } = context;
  const isOfTenant = document['scope'] === 'tenant';
  requirePackRight(context, isOfTenant);
  requireMemory(context);
  const { name, version } = parsePack(document);
  const namespace = isOfTenant ? tenantNamespace(settings, tenantId) : '';
  return writeKnowledge(
    packKind,
    {
      subject: [namespace, name, version],
      path,
      body: JSON.stringify(isOfTenant ? { ...document, namespace } : document),
      facts: { name, version, scope: isOfTenant ? 'tenant' : 'global' },
    },
    surroundings,
  );
}

function requirePackRight({ caller, settings }: Context, isOfTenant: boolean): void {
  const required = ['knowledge.packs.manage'];
  if (isOfTenant && !holds(caller.permissions, 'knowledge.packs.manage'))
    fail('permission_denied', { required });
  if (!isOfTenant && !settings.CP_KNOWLEDGE_PACK_ADMINS.includes(caller.principalId))
    fail('permission_denied', { required: [] });
}

function parsePack(document: JsonObject): { name: string; version: string } {
  const { name, version, scope = 'global' } = document;
  requireFit(document, 'pack', 'pack_invalid');
  if (typeof name !== 'string' || !nameForm.test(name)) return fail('pack_invalid', { field: 'name' });
  if (typeof version !== 'string' || !versionForm.test(version))
    return fail('pack_invalid', { field: 'version' });
  if (scope !== 'tenant' && scope !== 'global') return fail('pack_invalid', { field: 'scope' });
  // The document never determines the owner.
  for (const field of ['namespace', 'scopes'])
    if (Object.hasOwn(document, field)) fail('pack_invalid', { field });
  return { name, version };
}

/**
 * Reads a pack in memory's own format: one of the tenant, or one for all tenants.
 * @throws Refusal `invalid_pack_ref`, `permission_denied` if a decision point does not show the tenant's namespace,
 * `memory_disabled`, `not_found`, `memory_timeout`, `memory_unavailable`
 */
export async function getPack(
  ref: string,
  { context, command }: Surroundings<JsonObject, Context>,
): Promise<Answer> {
  if (!isPackRef(ref, { versioned: false })) fail('invalid_pack_ref');
  const { tenantId, traceRunId, settings } = context;
  const namespace = tenantNamespace(settings, tenantId);
  if (!mayReadAll(context, [namespace])) refuseMemory(context);
  const result = await requireMemory(context).send({
    tenantId,
    path: `${path}/${encodeURIComponent(ref)}?namespace=${encodeURIComponent(namespace)}`,
    method: 'GET',
    traceRunId,
    timeoutMs: settings.CP_CONTEXT_TIMEOUT_SECONDS * 1000,
    read: (json) =>
      typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as JsonObject) : undefined,
  });
  return command(requireResponse(result, { 404: 'not_found' }).value);
}
