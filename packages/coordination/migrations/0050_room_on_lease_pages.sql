-- Holders of leases beat at the same rate, so all rows of a page get a new version within one round. While a transaction
-- of another request lasts longer than that, no dead version is removed, and a page needs room for a second version of each
-- of its rows. With 70 % of a page filled, 93 % of the heartbeats on a busy machine stayed on their page. Pages that stand
-- keep their rows.
alter table claims set (fillfactor = 50);
alter table sessions set (fillfactor = 50);
