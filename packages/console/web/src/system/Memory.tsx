import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';

/** The progress of the delivery of this tenant's journal to the memory service. */
export function Memory({ mayManage }: { mayManage: boolean }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const { data, isError, error, refetch } = useQuery({
    queryKey: ['system', 'memory'],
    queryFn: ({ signal }) => baton.operations.getContextAdapter({ signal }),
    refetchInterval: 5_000,
  });
  const redrive = useMutation({
    mutationFn: (tenantId: string) =>
      baton.operations.redriveContextAdapter(
        tenantId,
        {},
        { idempotencyKey: keys.of([tenantId, data?.parkedEventId, data?.failureCount]) },
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['system', 'memory'] }),
  });
  return (
    <section className="stack" aria-labelledby="memory">
      <h2 id="memory">Memory service delivery</h2>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !isError && <Loading lines={1} />}
      {data?.cursor === null && (
        <p className="soft">
          No events delivered yet. Configure the memory service with{' '}
          <code className="mono">CP_CONTEXT_PROVIDER</code>.
        </p>
      )}
      {data && data.cursor !== null && (
        <div className="card stack">
          <p>
            {data.deliveredTotal.toLocaleString('en')} events delivered
            {data.lastDeliveryAt !== null && (
              <>
                , the latest <Moment at={data.lastDeliveryAt} />
              </>
            )}
            ; {data.lagCapped ? 'more than ' : ''}
            {data.lagEvents ?? 0} pending.
          </p>
          {data.parked && (
            <>
              <p>
                On hold at event <span className="mono">{data.parkedEventId}</span> after {data.failureCount}{' '}
                failures: {data.parkedReason}
              </p>
              {data.nextAttemptAt !== null && (
                <p className="soft">
                  Next attempt <Moment at={data.nextAttemptAt} />
                </p>
              )}
              {mayManage && (
                <div className="row">
                  <button
                    type="button"
                    disabled={redrive.isPending}
                    onClick={() => redrive.mutate(data.tenantId)}
                  >
                    Retry now
                  </button>
                </div>
              )}
              {redrive.isError && <ErrorNote error={redrive.error} />}
            </>
          )}
        </div>
      )}
    </section>
  );
}
