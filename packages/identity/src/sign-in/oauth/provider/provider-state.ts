import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from '../../context.ts';
import type { RefreshedGrant } from '../sealed/refresh-tokens.ts';

/** The models of the provider library that are stored as rows. */
export type HandleKind = 'AuthorizationCode' | 'RefreshToken' | 'DeviceCode';

/** The client as it is shown to people. */
export interface ShownClient {
  readonly id: string;
  readonly name: string;
  readonly uri: string | null;
}

/** An access token that was signed for the request. */
export interface MintedToken {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly scope: readonly string[];
}

/** A code or refresh token that is about to be used up, and what is issued for it. */
export interface Redemption {
  readonly kind: HandleKind;
  readonly handle: string;
  readonly grant: RefreshedGrant;
  readonly minted: MintedToken;
  /** The refresh token that replaces it; absent for a client without refresh tokens. */
  issued?: { readonly payload: object; readonly lifetimeSeconds: number };
}

/** What a request passes to the callbacks of the provider library, and gets from them. */
export interface ProviderState {
  readonly context: Context;
  /** The authorization request: written when one begins, present when one is resumed. */
  interaction?: { readonly uid: string; readonly payload: Record<string, unknown> };
  client?: ShownClient;
  /** The client's document couldn't be fetched now; the client may still publish it. */
  isDocumentMissing?: boolean;
  /** The code or refresh token that was found last. */
  found?: Record<string, unknown>;
  /** The scopes that a refresh requests; all of the grant by default. */
  scopes?: readonly string[];
  /** The resource that the token request names; undefined if it names none. */
  resource?: string;
  /** Absent until everything about a code or refresh token has been checked. */
  redemption?: Redemption;
  /** A refresh token that was replaced long ago: its grant, and the client of that. */
  formerToken?: { readonly credentialId: string; readonly clientId: string };
  /** One of our refusals, which the library would turn into a server error. */
  failure?: unknown;
}

export const providerState = new AsyncLocalStorage<ProviderState>();

export function currentState(): ProviderState {
  const state = providerState.getStore();
  if (state === undefined) throw new Error('The provider library was called outside of a request.');
  return state;
}
