import { baton } from '../../client.ts';
import { Line, List } from '../Section.tsx';

/** The public keys by which services check access tokens. */
export function Keys() {
  return (
    <>
      <List
        name={['keys']}
        empty="No signing key is configured: nobody gets an access token."
        read={(_after, signal) => baton.identity.keys.list({ signal }).then(({ keys }) => ({ items: keys }))}
      >
        {({ kid, alg, kty }) => (
          <Line key={kid} title={<span className="mono">{kid}</span>} facts={[`${alg} · ${kty}`]} />
        )}
      </List>
      <p className="soft">
        The first key signs; others are the next or the previous one, or of another algorithm. Keys are
        changed where they are kept, without refusing a valid token: see “Rotate” in docs/operations.md.
      </p>
    </>
  );
}
