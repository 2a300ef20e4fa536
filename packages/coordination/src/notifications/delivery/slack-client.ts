import type { Pool } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import { OutboundClient, OutboundError } from '@baton/kernel/outbound/outbound';
import type { SecretStore } from '../../access/secret-store/secret-store.ts';
import type { SlackMessage } from '../messages/slack-message.ts';
import type { Settings } from '../settings.ts';
import { secretOf } from '../slack-webhooks/slack-webhook.ts';
import type { SendOutcome } from './send-outcome.ts';

/** A stored webhook: its address is in the secret store. */
export interface WebhookPlace {
  readonly tenantId: string;
  readonly host: string;
  readonly secretName: string;
}

/** Statuses that concern the message: it is malformed, or too long. */
const messageFaults = [400, 413];
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** Posts messages to incoming webhooks, under the rules for addresses that came through the API. */
export class SlackClient {
  readonly #outbound: OutboundClient;
  readonly #secrets: SecretStore;
  readonly #pool: Pool;

  constructor(settings: Settings, secrets: SecretStore, pool: Pool) {
    this.#outbound = new OutboundClient({ allowedHosts: settings.CP_OUTBOUND_ALLOWED_HOSTS });
    this.#secrets = secrets;
    this.#pool = pool;
  }

  async send(place: WebhookPlace, message: SlackMessage, signal: AbortSignal): Promise<SendOutcome> {
    try {
      const address = await this.#addressOf(place);
      if (address === undefined)
        return { kind: 'refused', reason: 'the address of the webhook is not stored', isOfRecipient: true };
      const { status } = await this.#outbound.send(
        address,
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(message),
          ignoresBody: true,
        },
        signal,
      );
      return outcomeOfStatus(status);
    } catch (error) {
      if (error instanceof OutboundError) return outcomeOfFailure(error);
      if (error instanceof Refusal && error.code === 'secret_store_unavailable')
        return { kind: 'away', reason: 'the secret store is unavailable', blame: 'sink' };
      throw error;
    }
  }

  /** Undefined unless the address leads to the host for which it was entered. */
  async #addressOf({ tenantId, host, secretName }: WebhookPlace): Promise<string | undefined> {
    const secret = secretOf({ tenant_id: tenantId, secret_name: secretName });
    const address = await this.#secrets.get(this.#pool, secret);
    return address !== undefined && URL.canParse(address) && new URL(address).host === host
      ? address
      : undefined;
  }
}

/** 429 and 5xx are temporary; other statuses mostly mean that the webhook was removed, or its channel archived. */
function outcomeOfStatus(status: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const reason = `the webhook answered ${status}`;
  if (status === 429 || status >= 500) return { kind: 'failed', reason, isUnknown: false };
  return { kind: 'refused', reason, isOfRecipient: !messageFaults.includes(status) };
}

function outcomeOfFailure({ failure, cause }: OutboundError): SendOutcome {
  const reason = `the webhook could not be reached: ${failure}`;
  if (failure === 'not_public' || failure === 'not_https' || failure === 'bad_address')
    return { kind: 'refused', reason, isOfRecipient: true };
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  const isUnsent = failure === 'name_not_found' || (code !== undefined && unsentCodes.includes(code));
  return { kind: 'failed', reason, isUnknown: !isUnsent };
}
