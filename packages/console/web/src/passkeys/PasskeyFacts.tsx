import type { Passkey } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';

/** Where a passkey is stored, and when it was created and last used. */
export function PasskeyFacts({ passkey }: { passkey: Passkey }) {
  const { isSynced, createdAt, lastUsedAt } = passkey;
  return (
    <p className="soft">
      {isSynced ? 'may be synced to other devices' : 'stays on its device'} · added <Moment at={createdAt} />{' '}
      ·{' '}
      {lastUsedAt === null ? (
        'never used'
      ) : (
        <>
          last used <Moment at={lastUsedAt} />
        </>
      )}
    </p>
  );
}
