import type { Caller } from '../../service/caller.ts';
import type { Subscriber } from './subscriber.ts';

/** The open streams of one principal with one credential: their rights are checked together. */
export interface CredentialStreams {
  readonly name: string;
  readonly credential: string;
  readonly caller: Caller;
  readonly subscribers: Set<Subscriber>;
}

/** The open streams of this process, by credential and by principal. */
export class StreamRegistry {
  readonly #byCredential = new Map<string, CredentialStreams>();
  readonly #byPrincipal = new Map<string, number>();

  get credentialCount(): number {
    return this.#byCredential.size;
  }

  /** Rotates: returns the least recently returned streams; new ones are first, in the order of arrival. */
  next(): CredentialStreams | undefined {
    const next = this.#byCredential.values().next().value;
    if (next === undefined) return undefined;
    this.#byCredential.delete(next.name);
    this.#byCredential.set(next.name, next);
    return next;
  }

  of(iamPrincipalId: string): CredentialStreams[] {
    return [...this.#byCredential.values()].filter(({ caller }) => caller.iamPrincipalId === iamPrincipalId);
  }

  countOf({ principalId }: Caller): number {
    return this.#byPrincipal.get(principalId) ?? 0;
  }

  add(subscriber: Subscriber): CredentialStreams {
    const { credential, caller } = subscriber;
    const name = nameOf(subscriber);
    const known = this.#byCredential.get(name);
    const streams = known ?? { name, credential, caller, subscribers: new Set() };
    if (known === undefined) this.#byCredential.set(name, streams);
    streams.subscribers.add(subscriber);
    this.#byPrincipal.set(caller.principalId, this.countOf(caller) + 1);
    return streams;
  }

  delete(subscriber: Subscriber): void {
    const { caller } = subscriber;
    const streams = this.#byCredential.get(nameOf(subscriber));
    if (streams?.subscribers.delete(subscriber) !== true) return;
    if (streams.subscribers.size === 0) this.#byCredential.delete(streams.name);
    const left = this.countOf(caller) - 1;
    if (left > 0) this.#byPrincipal.set(caller.principalId, left);
    else this.#byPrincipal.delete(caller.principalId);
  }
}

/** Includes the principal, because a credential may be assigned to another principal while its streams are open. */
function nameOf({ credential, caller }: Subscriber): string {
  return `${caller.principalId} ${credential}`;
}
