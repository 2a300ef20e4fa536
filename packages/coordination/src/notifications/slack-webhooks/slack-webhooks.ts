import type { Db } from '@baton/kernel/database/db';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { dropSecret, keepNewSecret, putNewSecret } from '../../access/secret-store/leftovers.ts';
import type { SecretChange } from '../../access/secret-store/secret-store.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { isKind, kindNames } from '../kinds.ts';
import { requirePersonWhoWrites } from '../preferences/preferences.ts';
import {
  type SlackChannel,
  type SlackWebhook,
  secretKind,
  secretOf,
  slackChannelOf,
  slackWebhookOf,
  type WebhookRow,
} from './slack-webhook.ts';
import { slackWebhookRemoved, slackWebhookSet } from './slack-webhooks.events.ts';
import { deleteWebhook, findWebhook, lockWebhook, upsertWebhook } from './slack-webhooks.sql.ts';

/** A checked address, stored under a name that no row refers to yet. */
export interface StoredAddress {
  readonly host: string;
  readonly change: SecretChange;
}

type Around = Surroundings<StoredAddress, Context>;

/**
 * @throws Refusal `not_a_person`, `permission_denied`, `slack_not_enabled`, `slack_webhook_not_allowed`,
 * `secret_store_unavailable`
 */
export async function putOwnWebhookAround(url: string, surroundings: Around): Promise<Answer> {
  requirePersonWhoWrites(surroundings.context);
  return storeAround(url, surroundings);
}

/**
 * @throws Refusal `slack_not_enabled`, `unknown_notification_kind`, `slack_webhook_not_allowed`,
 * `secret_store_unavailable`
 */
export async function putChannelAround(
  { url, kinds }: { url: string; kinds: readonly string[] },
  surroundings: Around,
): Promise<Answer> {
  const unknown = kinds.filter((kind) => !isKind(kind));
  if (unknown.length > 0) fail('unknown_notification_kind', { unknown, known: kindNames });
  return storeAround(url, surroundings);
}

async function storeAround(url: string, { context, command }: Around): Promise<Answer> {
  if (!context.settings.CP_SLACK_ENABLED) fail('slack_not_enabled');
  const host = hostOf(context, url);
  return command({ host, change: await putNewSecret(context, secretKind, url) });
}

/** @throws Refusal `slack_webhook_not_allowed` */
function hostOf({ settings }: Context, address: string): string {
  const { CP_SLACK_WEBHOOK_HOSTS: hosts, CP_OUTBOUND_ALLOWED_HOSTS: insiders } = settings;
  const refuse = (): never => fail('slack_webhook_not_allowed', { hosts });
  if (!URL.canParse(address)) return refuse();
  const { protocol, host, username, password, hash } = new URL(address);
  const isKnown = hosts.some((known) => known.toLowerCase() === host);
  const isSecure = protocol === 'https:' || (protocol === 'http:' && insiders.includes(host));
  return isKnown && isSecure && username === '' && password === '' && hash === '' ? host : refuse();
}

export async function putOwnWebhook(context: Context, stored: StoredAddress): Promise<SlackWebhook> {
  return slackWebhookOf(await replaceWebhook(context, context.caller.principalId, stored, []));
}

export async function putChannel(
  context: Context,
  stored: StoredAddress,
  kinds: readonly string[],
): Promise<SlackChannel> {
  return slackChannelOf(await replaceWebhook(context, null, stored, [...new Set(kinds)]));
}

async function replaceWebhook(
  context: Context,
  principalId: string | null,
  { host, change }: StoredAddress,
  kinds: readonly string[],
): Promise<WebhookRow> {
  const { db, tenantId } = context;
  await keepNewSecret(context, change);
  const before = await db.row(lockWebhook(tenantId, principalId));
  const row = (await db.row(
    upsertWebhook({
      id: newId(),
      tenant_id: tenantId,
      principal_id: principalId,
      host,
      secret_name: change.secret.name,
      kinds: [...kinds],
    }),
  )) as WebhookRow;
  if (before !== undefined) await dropSecret(context, secretOf(before));
  emit(context, slackWebhookSet, { entityId: row.id }, { principalId, host, kinds: [...kinds] });
  return row;
}

/** The webhook of the tenant's channel, if it has one. */
export async function findChannelWebhook(db: Db, tenantId: string): Promise<WebhookRow | undefined> {
  return db.row(findWebhook(tenantId, null));
}

/** @throws Refusal `not_found` */
export async function getChannel({ db, tenantId }: Context): Promise<SlackChannel> {
  return slackChannelOf((await findChannelWebhook(db, tenantId)) ?? fail('not_found'));
}

/** If there is no webhook, nothing changes. @param principalId null for the channel of the tenant */
export async function removeWebhook(context: Context, principalId: string | null): Promise<undefined> {
  const { db, tenantId } = context;
  const row = await db.row(lockWebhook(tenantId, principalId));
  if (row === undefined) return undefined;
  await dropSecret(context, secretOf(row));
  await db.run(deleteWebhook(tenantId, row.id));
  emit(context, slackWebhookRemoved, { entityId: row.id }, { principalId });
  return undefined;
}
