import { z } from 'zod';
import { appliedRevision } from '@baton/kernel/database/migrate';
import { reply } from '@baton/kernel/http/service';
import { awaitAtMost } from '../../service/await-at-most.ts';
import { endpoint } from '../context.ts';

export const getLiveness = endpoint({
  id: 'getLiveness',
  method: 'GET',
  path: '/healthz',
  root: true,
  auth: 'none',
  summary: 'Whether the process responds. The database is not checked.',
  returns: { 200: z.strictObject({ status: z.literal('ok') }).meta({ id: 'Liveness' }) },
  handle: () => ({ status: 'ok' as const }),
});

const Readiness = z.strictObject({ database: z.boolean(), signingKey: z.boolean() });

export const getReadiness = endpoint({
  id: 'getReadiness',
  method: 'GET',
  path: '/readyz',
  root: true,
  auth: 'none',
  summary:
    'Whether requests can be served: the database responds within 2 seconds, and a signing key is configured.',
  returns: {
    200: Readiness.extend({ status: z.literal('ready') }).meta({ id: 'Ready' }),
    503: Readiness.extend({ detail: z.literal('unavailable') }).meta({ id: 'NotReady' }),
  },
  async handle(_input, { db, signingKeys }) {
    const asked = db.row({ text: appliedRevision, values: [] }).then(() => true);
    const database = (await awaitAtMost(2000, asked)) ?? false;
    const parts = { database, signingKey: signingKeys.isPresent };
    if (parts.database && parts.signingKey) return { status: 'ready' as const, ...parts };
    return reply(503, { detail: 'unavailable' as const, ...parts }, { 'retry-after': '1' });
  },
});

export const healthApi = [getLiveness, getReadiness];
