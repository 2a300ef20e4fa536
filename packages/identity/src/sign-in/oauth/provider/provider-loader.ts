import type Provider from 'oidc-provider';

/** Loads the provider library at its first use, because that takes 0.3 s. */
export interface ProviderLoader {
  load(): Promise<Provider>;
}
