import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { onEvent } from './live.ts';
import { Refetches } from './refetches.ts';

/** Figures change with almost every event, and each refetch computes all of them. Slow ones pause for ten times as long. */
const bounds = { gatherMs: 60_000, restTimes: 10, restMsMax: 600_000 };

/**
 * Refetches figures at most once a minute, after events that change them, and only one request at a time.
 * @param key the first element of their query keys
 * @param counted the types of these events
 */
export function useLiveFigures(key: string, counted: RegExp): void {
  const queries = useQueryClient();
  useEffect(() => {
    const refetches = new Refetches(async (first) => {
      if (document.hidden) return;
      // By default a refetch would cancel a pending request in the browser, but not in the database.
      await queries.invalidateQueries({ queryKey: [first] }, { cancelRefetch: false });
    }, bounds);
    const stop = onEvent(({ type }) => {
      if (counted.test(type)) refetches.request(key);
    });
    return () => {
      stop();
      refetches.stop();
    };
  }, [queries, key, counted]);
}
