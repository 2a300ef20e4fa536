import { bindingChannel, journalChannel } from './notifier.sql.ts';

/** One NOTIFY. */
export interface Message {
  readonly channel: string;
  readonly body: string;
}

/** Sent in place of the list of tenants if everything may have changed. */
export const everything = '*';

/** Keeps a payload below PostgreSQL's limit of 8000 bytes. */
const tenantsMax = 150;
const bindingsMax = 100;

/**
 * Pending announcements. A tenant is listed once; if they no longer fit into a payload, one message that announces
 * everything replaces them.
 */
export class Announcements {
  readonly #tenantIds = new Set<string>();
  #bindings: Message[] = [];
  #isEverything = false;

  get isEmpty(): boolean {
    return !this.#isEverything && this.#tenantIds.size + this.#bindings.length === 0;
  }

  addTenant(tenantId: string): void {
    if (this.#tenantIds.size < tenantsMax) this.#tenantIds.add(tenantId);
    else if (!this.#tenantIds.has(tenantId)) this.#isEverything = true;
  }

  addBinding(issuer: string, iamPrincipalId: string): void {
    if (this.#bindings.length === bindingsMax) this.#isEverything = true;
    else this.#bindings.push({ channel: bindingChannel, body: `${iamPrincipalId} ${issuer}` });
  }

  addEverything(): void {
    this.#isEverything = true;
  }

  /** Moves the pending announcements into the messages to send. */
  take(): Message[] {
    const messages = this.#bindings;
    if (this.#isEverything) messages.push({ channel: journalChannel, body: everything });
    else if (this.#tenantIds.size > 0)
      messages.push({ channel: journalChannel, body: [...this.#tenantIds].join(',') });
    this.#tenantIds.clear();
    this.#bindings = [];
    this.#isEverything = false;
    return messages;
  }
}
