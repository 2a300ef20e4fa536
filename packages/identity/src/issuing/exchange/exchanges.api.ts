import { endpoint } from '../context.ts';
import { ClientExchange, ClientExchangeRequest, TokenExchange, TokenExchangeRequest } from './exchange.ts';
import { exchangeClientCredentials, exchangePlatformAccessToken } from './exchanges.ts';

export const exchangeToken = endpoint({
  id: 'exchangePlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:exchange',
  auth: 'presented',
  summary: 'Exchange a token for a short-lived access token for one audience.',
  body: TokenExchangeRequest,
  returns: { 200: TokenExchange },
  secrets: ['accessToken'],
  errors: ['invalid_token', 'audience_not_allowed', 'scope_not_allowed', 'rate_limited'],
  transaction: 'none',
  example: {
    token: 'iam_pat_0123456789ab_the-secret-that-was-shown-once',
    audience: 'control-plane',
    scopes: ['control-plane:read'],
  },
  handle: ({ body }, context) => exchangePlatformAccessToken(context, body),
});

export const exchangeClient = endpoint({
  id: 'exchangeClientCredentials',
  method: 'POST',
  path: '/tokens/exchange',
  auth: 'presented',
  summary: 'Exchange client credentials for a short-lived access token for one audience.',
  body: ClientExchangeRequest,
  returns: { 200: ClientExchange },
  secrets: ['accessToken'],
  errors: ['invalid_client', 'audience_not_allowed', 'scope_not_allowed', 'rate_limited'],
  transaction: 'none',
  example: {
    clientId: 'iam_sa_0123456789abcdefghijklmn',
    clientSecret: 'the-secret-that-was-shown-once',
    audience: 'control-plane',
    scopes: ['control-plane:read'],
  },
  handle: ({ body }, context) => exchangeClientCredentials(context, body),
});

export const exchangesApi = [exchangeToken, exchangeClient];
