// The client-credentials grant of the package `oidc-provider`, in a separate process from identity's.
import { createPrivateKey } from 'node:crypto';
import { createServer } from 'node:http';
import Provider, { type Configuration } from 'oidc-provider';

const { PORT, SIGNING_KEY = '', CLIENTS = '[]', AUDIENCE = '', SCOPE = '' } = process.env;
const clients = JSON.parse(CLIENTS) as { clientId: string; clientSecret: string }[];
const jwk = { ...createPrivateKey(SIGNING_KEY).export({ format: 'jwk' }), alg: 'RS256', use: 'sig' };

// Warnings about defaults, such as the in-memory store, must not mix with the figures on standard output.
console.info = console.error;
console.warn = console.error;

const configuration: Configuration = {
  ttl: { ClientCredentials: 300 },
  jwks: { keys: [jwk] },
  clients: clients.map(({ clientId, clientSecret }) => ({
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_post',
  })),
  scopes: [SCOPE],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        audience: AUDIENCE,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
};

const provider = new Provider(`http://127.0.0.1:${PORT}`, configuration);
const server = createServer(provider.callback()).listen(Number(PORT), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
