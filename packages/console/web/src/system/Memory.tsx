import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';

/** How far the delivery of this tenant's journal to the memory service has come. */
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
      <h2 id="memory">Delivery to the memory service</h2>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !isError && <Loading lines={1} />}
      {data?.cursor === null && (
        <p className="soft">
          Nothing was delivered yet. <code className="mono">CP_CONTEXT_PROVIDER</code> names the memory
          service.
        </p>
      )}
      {data && data.cursor !== null && (
        <div className="card stack">
          <p>
            {data.deliveredTotal.toLocaleString('en')} events confirmed
            {data.lastDeliveryAt !== null && (
              <>
                , the last <Moment at={data.lastDeliveryAt} />
              </>
            )}
            ; {data.lagCapped ? 'more than ' : ''}
            {data.lagEvents ?? 0} to go.
          </p>
          {data.parked && (
            <>
              <p>
                Set aside at event <span className="mono">{data.parkedEventId}</span> after{' '}
                {data.failureCount} failures: {data.parkedReason}
              </p>
              {data.nextAttemptAt !== null && (
                <p className="soft">
                  Tried again <Moment at={data.nextAttemptAt} />
                </p>
              )}
              {mayManage && (
                <div className="row">
                  <button
                    type="button"
                    disabled={redrive.isPending}
                    onClick={() => redrive.mutate(data.tenantId)}
                  >
                    Try again now
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
