-- What a gateway's machine says of itself: its cloud, region and instance size, as its cloud's metadata service or its
-- settings have them. '' is unknown. `gateways.size` stays what planning goes by.
ALTER TABLE gateways ADD COLUMN cloud_provider TEXT NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN cloud_region TEXT NOT NULL DEFAULT '';
ALTER TABLE gateways ADD COLUMN cloud_size TEXT NOT NULL DEFAULT '';
