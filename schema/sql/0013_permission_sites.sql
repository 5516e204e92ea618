-- What was permitted was permitted for these two sites: a connection that joins others has no part in it.
ALTER TABLE encryption_permissions ADD COLUMN site_a_id BLOB;
ALTER TABLE encryption_permissions ADD COLUMN site_b_id BLOB;
UPDATE encryption_permissions SET (site_a_id, site_b_id) =
    (SELECT c.site_a_id, c.site_b_id FROM connections c WHERE c.id = encryption_permissions.connection_id);
