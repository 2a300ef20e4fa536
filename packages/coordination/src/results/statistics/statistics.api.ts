import { z } from 'zod';
import { InstantInput, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { rangeQuery, scopeQuery } from './range.ts';
import {
  getHoldings,
  getLeaseStatistics,
  getUsageStatistics,
  getWaitStatistics,
  getWorkStatistics,
} from './read-statistics.ts';
import {
  Holdings,
  LeaseStatistics,
  UsageStatistics,
  usageGroupings,
  WaitStatistics,
  WorkStatistics,
} from './statistics.ts';

const query = { ...rangeQuery, ...scopeQuery };
const errors = ['invalid_time_zone', 'invalid_range', 'not_found'] as const;

export const statisticsApi = [
  endpoint({
    id: 'getWorkStatistics',
    method: 'GET',
    path: '/statistics/work',
    summary: 'Count created and completed tasks by day, with their lead and cycle times.',
    permission: 'tasks.read',
    query,
    isList: true,
    returns: { 200: WorkStatistics },
    errors,
    handle: (input, context) => getWorkStatistics(context, input.query),
  }),
  endpoint({
    id: 'getWaitStatistics',
    method: 'GET',
    path: '/statistics/waits',
    summary: 'Sum the time for which requests for a decision waited for people, by day.',
    description: 'Also needs tasks.read.',
    permission: 'approvals.read',
    alsoOneOf: ['tasks.read'],
    query,
    isList: true,
    returns: { 200: WaitStatistics },
    errors,
    handle: (input, context) => getWaitStatistics(context, input.query),
  }),
  endpoint({
    id: 'getLeaseStatistics',
    method: 'GET',
    path: '/statistics/leases',
    summary: 'Count lost leases and refused late writes, by day and by holder.',
    permission: 'tasks.read',
    query,
    isList: true,
    returns: { 200: LeaseStatistics },
    errors,
    handle: (input, context) => getLeaseStatistics(context, input.query),
  }),
  endpoint({
    id: 'getUsageStatistics',
    method: 'GET',
    path: '/statistics/usage',
    summary: 'Sum tokens and money by principal, workspace or week.',
    permission: 'tasks.read',
    query: { ...query, groupBy: z.enum(usageGroupings).optional().describe('`principal` by default.') },
    isList: true,
    returns: { 200: UsageStatistics },
    errors,
    handle: (input, context) => getUsageStatistics(context, input.query),
  }),
  endpoint({
    id: 'getHoldings',
    method: 'GET',
    path: '/statistics/holdings',
    summary: 'List what each principal held within a period of up to 7 days, newest claims first.',
    permission: 'tasks.read',
    query: {
      ...scopeQuery,
      from: InstantInput.optional().describe('By default, a day before `to`.'),
      to: InstantInput.optional().describe('By default, now.'),
      principalId: Uuid.optional(),
    },
    isList: true,
    returns: { 200: Holdings },
    errors: ['invalid_period', 'not_found'],
    handle: (input, context) => getHoldings(context, input.query),
  }),
];
